"""Local copies of partitions: each follows its log from restore to live and is swept when due."""
