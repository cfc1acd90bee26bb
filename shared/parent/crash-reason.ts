/** Lines that give the reason for a crash: `Error: …`, `TypeError [CODE]: …`, `Assertion failed: …`, `FATAL ERROR: …`. */
const WHY = /^\s*(?:#\s+)?(?:\w*Error\b[^:]*: |Assertion |FATAL ERROR: |Uncaught )/;
const LINES = 3;

/** Why a process exited, in one line: the error of its crash, or the last lines of its stderr. Empty if there are none. */
export function crashReason(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const why = lines.findLast((line) => WHY.test(line));
  return why ?? lines.slice(-LINES).join(' | ');
}
