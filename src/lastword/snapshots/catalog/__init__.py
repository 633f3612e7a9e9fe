"""What a snapshot is and which there are: layout, planning, metadata."""
