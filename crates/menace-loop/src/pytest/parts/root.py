import sys
from pathlib import Path

# The repository: the nearest directory above this file that has the module, else where pytest runs.
ROOT = next((above for above in Path(__file__).resolve().parents if (above / MODULE).is_file()), Path.cwd())
sys.path[:0] = [str(ROOT / root) for root in IMPORT_ROOTS]
