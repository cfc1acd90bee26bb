import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { systemClock } from '../runtime/clock.ts';
import { isToParent, type ToParent, type UpgradeOutcome } from '../runtime/parent.ts';
import { LAUNCHER_VARIABLE, PARENT_VARIABLE, SUPERVISED_VARIABLE } from '../runtime/supervised.ts';

/** Where the parent was started. */
const DIRECTORY = process.cwd();
/** How much of what a child says on stderr is kept, to say why it ended (characters). */
const KEPT = 4_096;
/** As a shell has it, where a program can't be started. */
const NOT_STARTED = 127;
/** How long the last words of one that has ended may take (ms). */
const LAST_WORDS_MS = 500;

export type Launch = {
  /** The launcher's path: it finds the Node and the files of what is installed there now. */
  readonly launcher: string;
  readonly argv: readonly string[];
};

export type ChildEvents = {
  said(message: ToParent): void;
  /** `code` as a shell has it: 128 and the signal's number for one that was killed. */
  ended(code: number): void;
};

export interface Child {
  /** 0 for one that could not be started. */
  readonly pid: number;
  /** What it said last on stderr. */
  readonly lastWords: string;
  send(outcome: UpgradeOutcome): void;
  signal(signal: NodeJS.Signals): void;
}

/**
 * Starts one. stdin is a pipe whose other end closes with this process, however that dies; a session of its own: Ctrl-C in
 * a terminal reaches the parent alone, which passes it on once. stdout is the parent's own; stderr passes through.
 */
export function startChild({ launcher, argv }: Launch, heard: ChildEvents, err: (text: string) => void): Child {
  const child = spawned(launcher, argv);
  if (child instanceof Error) return neverStarted(child, heard);
  let kept = '';
  const note = (text: string): void => {
    kept = (kept + text).slice(-KEPT);
  };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    note(text);
    err(text);
  });
  // A child that dies closes its end first; its exit says the rest.
  child.stdin?.on('error', () => undefined);
  child.on('message', (message) => {
    if (isToParent(message)) heard.said(message);
  });
  whenEnded(child, note, heard.ended);
  return {
    pid: child.pid ?? 0,
    get lastWords() {
      return kept;
    },
    // One that is gone meanwhile needs no answer.
    send: (outcome) => void (child.connected && child.send(outcome, undefined, undefined, () => undefined)),
    signal: (signal) => void child.kill(signal),
  };
}

/** Node throws some of the system's refusals (ENOMEM, E2BIG, a path that is none) and emits the others. */
function spawned(launcher: string, argv: readonly string[]): ChildProcess | Error {
  // By its name, and not by where this process stands: a directory may have been put anew in its place, or be gone.
  const cwd = existsSync(DIRECTORY) ? DIRECTORY : '/';
  try {
    return spawn(launcher, argv, { stdio: ['pipe', 'inherit', 'pipe', 'ipc'], detached: true, cwd, env: environment(launcher) });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function neverStarted({ message }: Error, heard: ChildEvents): Child {
  process.nextTick(() => heard.ended(NOT_STARTED));
  return { pid: 0, lastWords: message, send: () => undefined, signal: () => undefined };
}

function whenEnded(child: ChildProcess, note: (text: string) => void, ended: (code: number) => void): void {
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    note(`${error.message}\n`);
    ended(NOT_STARTED);
  });
  child.once('exit', (code, signal) => {
    const exit = code ?? 128 + (signal ? constants.signals[signal] : 0);
    // Its last words come through the pipe. Programs of its own may hold that open for longer than it lives.
    if (child.stderr === null || child.stderr.readableEnded) return ended(exit);
    const cancel = systemClock.after(LAST_WORDS_MS, () => ended(exit));
    child.stderr.once('close', () => {
      cancel();
      ended(exit);
    });
  });
}

/** The service manager hears from the parent alone. */
function environment(launcher: string): NodeJS.ProcessEnv {
  const { NOTIFY_SOCKET: _, ...rest } = process.env;
  return { ...rest, [PARENT_VARIABLE]: `${process.pid}`, [LAUNCHER_VARIABLE]: launcher, [SUPERVISED_VARIABLE]: '1' };
}
