import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import { NAME } from '../name.ts';
import { systemClock } from '../runtime/clock.ts';
import { isToParent, type ToChild, type ToParent } from '../runtime/process/parent.ts';
import { LAUNCHER_VARIABLE, PARENT_VARIABLE, SUPERVISED_VARIABLE, V8_THREADS_VARIABLE } from '../runtime/process/supervised.ts';

/** The working directory of the parent. */
const DIRECTORY = process.cwd();
/** How much of a child's stderr is kept to report why it exited (characters). */
const KEPT = 4_096;
/** A shell's exit code for a program that can't be started. */
const NOT_STARTED = 127;
/** V8's threads, of which Node starts four on any machine: on one core, they would take four fifths of it from a thread that answers requests. */
const V8_THREADS = Math.min(4, availableParallelism());
/** How long to wait for the rest of stderr after a child has exited (ms). */
const LAST_WORDS_MS = 500;

export type Launch = {
  /** The launcher's path. It finds Node and the files of the installed version. */
  readonly launcher: string;
  readonly argv: readonly string[];
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
};

export type ChildEvents = {
  received(message: ToParent): void;
  /** `code` as in a shell: 128 plus the signal number for a killed process. */
  ended(code: number): void;
};

export interface Child {
  /** 0 if it could not be started. */
  readonly pid: number;
  /** The last part of its stderr. */
  readonly lastWords: string;
  send(message: ToChild): void;
  signal(signal: NodeJS.Signals): void;
}

/**
 * Starts a child. Its stdin is a pipe that closes when this process dies for any reason. It has its own session, so Ctrl-C
 * in a terminal reaches only the parent, which passes it on once. stdout is inherited; stderr is passed through.
 */
export function startChild(launch: Launch, events: ChildEvents, err: (text: string) => void): Child {
  const child = spawned(launch);
  let kept = '';
  const said = (text: string): void => {
    kept = (kept + text).slice(-KEPT);
    err(text);
  };
  const notStarted = ({ message }: Error): void => said(`${NAME}: can't start ${launch.launcher}: ${message}\n`);
  if (child instanceof Error) {
    notStarted(child);
    return neverStarted(kept, events);
  }
  child.stderr?.setEncoding('utf8').on('data', said);
  // A dying child closes its end first; the exit event follows.
  child.stdin?.on('error', () => undefined);
  child.on('message', (message) => {
    if (isToParent(message)) events.received(message);
  });
  whenEnded(child, notStarted, events.ended);
  return {
    pid: child.pid ?? 0,
    get lastWords() {
      return kept;
    },
    // A child that has exited in the meantime needs no message.
    send: (message) => void (child.connected && child.send(message, undefined, undefined, () => undefined)),
    signal: (signal) => void child.kill(signal),
  };
}

/** Node throws some spawn errors (ENOMEM, E2BIG, an invalid path) and emits others. */
function spawned({ launcher, argv, env = {} }: Launch): ChildProcess | Error {
  // By path rather than the inherited working directory, which may have been deleted or recreated.
  const cwd = existsSync(DIRECTORY) ? DIRECTORY : '/';
  try {
    return spawn(launcher, argv, {
      stdio: ['pipe', 'inherit', 'pipe', 'ipc'],
      detached: true,
      cwd,
      env: { ...environment(launcher), ...env },
    });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function neverStarted(lastWords: string, events: ChildEvents): Child {
  process.nextTick(() => events.ended(NOT_STARTED));
  return { pid: 0, lastWords, send: () => undefined, signal: () => undefined };
}

function whenEnded(child: ChildProcess, notStarted: (error: Error) => void, ended: (code: number) => void): void {
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    notStarted(error);
    ended(NOT_STARTED);
  });
  child.once('exit', (code, signal) => {
    const exit = code ?? 128 + (signal ? constants.signals[signal] : 0);
    // The rest of stderr is still in the pipe, which the child's own children may keep open after it exits.
    if (child.stderr === null || child.stderr.readableEnded) return ended(exit);
    const cancel = systemClock.after(LAST_WORDS_MS, () => ended(exit));
    child.stderr.once('close', () => {
      cancel();
      ended(exit);
    });
  });
}

/** Only the parent talks to the service manager. */
function environment(launcher: string): NodeJS.ProcessEnv {
  const { NOTIFY_SOCKET: _, ...rest } = process.env;
  return {
    ...rest,
    [PARENT_VARIABLE]: `${process.pid}`,
    [LAUNCHER_VARIABLE]: launcher,
    [SUPERVISED_VARIABLE]: '1',
    [V8_THREADS_VARIABLE]: `${V8_THREADS}`,
  };
}
