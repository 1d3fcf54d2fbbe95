"""One thread for linear algebra: sums in another order have other last bits, however many cores there are."""

from __future__ import annotations

from threading import Lock
from typing import Any

from threadpoolctl import threadpool_limits


class OneThread:
    """Linear algebra of this process in one thread, as long as anyone here wants it so.

    Some libraries count threads for the whole process, others for each thread that calls them: whoever enters
    says it again, and only the last to leave takes it back.
    """

    def __init__(self) -> None:
        self.lock, self.n_inside = Lock(), 0
        self.limits: Any = None

    def __enter__(self) -> None:
        with self.lock:
            limits = threadpool_limits(1, "blas")
            self.limits = self.limits if self.n_inside else limits
            self.n_inside += 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.n_inside -= 1
            if not self.n_inside:
                self.limits.restore_original_limits()


one_thread = OneThread()
