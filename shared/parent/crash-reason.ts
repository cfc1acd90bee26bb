/** Where a line says why: `Error: …`, `TypeError [CODE]: …`, `Assertion failed: …`, `FATAL ERROR: …`. */
const WHY = /^\s*(?:#\s+)?(?:\w*Error\b[^:]*: |Assertion |FATAL ERROR: |Uncaught )/;
const LINES = 3;

/** Why a process ended, in one line: what its crash says, or the last lines of its stderr. Empty when it said nothing. */
export function crashReason(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const why = lines.findLast((line) => WHY.test(line));
  return why ?? lines.slice(-LINES).join(' | ');
}
