/**
 * Linux signal numbers, regardless of the controller's own system, because containers are Linux. See signal(7); real-time signals begin
 * at 34 with both C libraries used in images.
 */
const NUMBERS: Readonly<Record<string, number>> = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  ILL: 4,
  TRAP: 5,
  ABRT: 6,
  BUS: 7,
  FPE: 8,
  KILL: 9,
  USR1: 10,
  SEGV: 11,
  USR2: 12,
  PIPE: 13,
  ALRM: 14,
  TERM: 15,
  STKFLT: 16,
  CHLD: 17,
  CONT: 18,
  STOP: 19,
  TSTP: 20,
  TTIN: 21,
  TTOU: 22,
  URG: 23,
  XCPU: 24,
  XFSZ: 25,
  VTALRM: 26,
  PROF: 27,
  WINCH: 28,
  IO: 29,
  PWR: 30,
  SYS: 31,
};
const RTMIN = 34;
const RTMAX = 64;

/** Signals after which a process is expected to exit; others have other purposes, as HUP for a reload. */
const ENDING = new Set([NUMBERS.TERM, NUMBERS.INT, NUMBERS.QUIT, NUMBERS.KILL]);

/** `15`, `TERM`, `sigterm`, `SIGRTMIN+3`. @returns undefined for other text. */
export function signalNumber(text: string): number | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const name = text.toUpperCase().replace(/^SIG/, '');
  const realTime = /^RT(MIN|MAX)(?:([+-])(\d{1,2}))?$/.exec(name);
  if (!realTime) return NUMBERS[name];
  const distance = Number(`${realTime[2] ?? '+'}${realTime[3] ?? 0}`);
  return (realTime[1] === 'MIN' ? RTMIN : RTMAX) + distance;
}

/** Whether a signal stops the container: a usual one, or the stop signal of its image. */
export function isStopSignal(signal: string, own: string | null): boolean {
  const number = signalNumber(signal);
  return number !== undefined && (ENDING.has(number) || (own !== null && signalNumber(own) === number));
}
