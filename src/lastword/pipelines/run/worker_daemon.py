"""PySpark's daemon with everything that tasks import: the workers that it forks are ready at once.

Started by Spark as a program, see ``spark.python.daemon.module``. To import it all takes a worker
half a second of processor time. After each task PySpark collects garbage, which leaves out what
was imported here.
"""

from __future__ import annotations

import gc

import pyarrow as pa
import pyarrow.compute
import pyspark.worker  # noqa: F401 - for the workers
from pyspark.daemon import manager

import lastword.pipelines.real_time.live_task
import lastword.pipelines.task.run_task  # noqa: F401 - for the workers

if __name__ == "__main__":
    pa.array([0])  # with its first array, PyArrow imports pandas
    gc.collect()
    gc.freeze()
    manager()
