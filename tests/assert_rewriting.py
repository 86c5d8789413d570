"""Failed asserts of helper modules say what was compared, as those of tests do.

tests/conftest.py imports this before any of them: pytest can rewrite only what has not been imported yet.
"""

from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    *(
        file.stem
        for file in Path(__file__).parent.glob("*.py")
        if not file.stem.startswith(("test_", "conftest", __name__))
    )
)
