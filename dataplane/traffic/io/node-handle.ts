import type { Socket } from 'node:net';
import { getSystemErrorName } from 'node:util';

/*
 * The only file that uses what Node does not document: the handle below a socket, which reads and writes without the buffers, events and
 * callbacks of Node's streams. If a version of Node has other handles, `handleOf` returns null, and the streams are used.
 */

/** A write that the system could not complete at once. */
export type PendingWrite = {
  /** Its result if it ended before `oncomplete` was set; null while it is under way. */
  writeStatus: number | null;
  oncomplete: (status: number) => void;
};

export type Handle = {
  /** What the stream believes about `readStart` and `readStop`. */
  reading: boolean;
  /** Called after each read. It returns the buffer for the next one, or undefined to keep the buffer. */
  onread: (this: Handle, bytes?: ArrayBuffer) => Uint8Array | undefined;
  readStart(): number;
  readStop(): number;
  useUserBuffer(buffer: Uint8Array): void;
  /** @returns 0 if everything was written, a negative error number, or the write that is under way. */
  writeLatin1String(request: null, text: string): number | PendingWrite;
  writeBuffer(request: null, bytes: Uint8Array): number | PendingWrite;
  /** `chunks` are pairs of a chunk and its encoding. */
  writev(request: null, chunks: readonly (string | Uint8Array)[], allBuffers: false): number | PendingWrite;
};

type StreamState = { readonly values: Int32Array; readonly readResult: number; readonly writeError: number };

const METHODS = ['readStart', 'readStop', 'useUserBuffer', 'writeLatin1String', 'writeBuffer', 'writev'];

/** Where handles leave the results of a call. */
const STATE = findState();
const VALUES = STATE?.values ?? new Int32Array(0);
const READ_RESULT = STATE?.readResult ?? 0;
const WRITE_ERROR = STATE?.writeError ?? 0;

function findState(): StreamState | null {
  const load: unknown = Reflect.get(process, 'binding');
  const binding: unknown = typeof load === 'function' ? load.call(process, 'stream_wrap') : null;
  if (typeof binding !== 'object' || binding === null) return null;
  const member = (name: string): unknown => Reflect.get(binding, name);
  const [values, readResult, writeError] = ['streamBaseState', 'kReadBytesOrError', 'kLastWriteErr'].map(member);
  if (!(values instanceof Int32Array) || typeof readResult !== 'number' || typeof writeError !== 'number') return null;
  return { values, readResult, writeError };
}

/** Whether the handles with a prototype are as expected. */
const kinds = new WeakMap<object, boolean>();

function isHandle(value: unknown): value is Handle {
  if (STATE === null || typeof value !== 'object' || value === null) return false;
  const kind: object = Object.getPrototypeOf(value);
  let expected = kinds.get(kind);
  if (expected === undefined) {
    expected = typeof Reflect.get(value, 'onread') === 'function';
    for (const name of METHODS) expected &&= typeof Reflect.get(value, name) === 'function';
    kinds.set(kind, expected);
  }
  return expected;
}

/** The handle of a socket; null if it is closed, or if it can only be used through its stream. */
export function handleOf(socket: Socket): Handle | null {
  const handle: unknown = Reflect.get(socket, '_handle');
  return isHandle(handle) ? handle : null;
}

/** Within `onread`: how many bytes were read, or a negative error number, which may stand for the end. */
export const readResult = (): number => VALUES[READ_RESULT] ?? 0;

/** Right after a call that returned a write that is under way: the error number that it failed with, or 0. */
export const writeError = (): number => VALUES[WRITE_ERROR] ?? 0;

/** What a stream reports for an error number. */
export function systemError(status: number, call: 'read' | 'write'): NodeJS.ErrnoException {
  const code = getSystemErrorName(status);
  return Object.assign(new Error(`${call} ${code}`), { errno: status, code, syscall: call });
}
