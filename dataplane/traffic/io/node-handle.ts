import { type Server, Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { getSystemErrorMap, getSystemErrorName } from 'node:util';
import { CLIENT_PROBES } from './probes.ts';

/*
 * With `passed-sockets.ts`, the only file that uses what Node does not document: the handle below a socket, which reads and writes without
 * the buffers, events and callbacks of Node's streams, and the one below a server, which accepts without making them. If a version of Node
 * has other handles, `handleOf` and `tlsOver` return null, `acceptHandles` does nothing, and the streams are used.
 */

/** A write that the system could not complete at once. */
export type PendingWrite = {
  /** Its result if it ended before `oncomplete` was set; null while it is under way. */
  writeStatus: number | null;
  oncomplete: (status: number) => void;
};

export type Handle = {
  /** Bytes that wait to be sent, with those that TLS has added by itself. */
  readonly writeQueueSize?: number;
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

/** The handle of an accepted connection. */
export type AcceptedHandle = Handle & {
  readonly bytesWritten: number;
  /** Both set address and port, and return 0 or a negative error number. */
  getpeername(end: ConnectionEnd): number;
  getsockname(end: ConnectionEnd): number;
  /** Closes the TCP connection. */
  close(closed?: () => void): void;
  /** The same with a reset; not over TLS. @returns 0 or a negative error number. */
  reset?(): number;
};

/** A TCP connection. */
export type TcpHandle = AcceptedHandle & { reset(): number };

/** TLS over a TCP connection, on the server's side. */
export type TlsHandle = AcceptedHandle & {
  /** The handshake is complete. */
  onhandshakedone: (this: TlsHandle) => void;
  /** The handshake has failed, or later a record can't be read. Its alert has been written. */
  onerror: (this: TlsHandle, error: Error) => void;
  /** Processes bytes as if they had been read. */
  receive(bytes: Buffer): void;
  setALPNProtocols(list: Buffer): void;
  getALPNNegotiatedProtocol(): string | false;
  getProtocol(): string | null;
  getCipher(): { readonly standardName?: string } | undefined;
  isSessionReused(): boolean;
  /** Writes close_notify (RFC 8446 6.1). @returns 0 or a negative error number. */
  shutdown(request: object): number;
  /** Frees what the library holds. To be called when it is closed, never from within a callback of the library. */
  destroySSL(): void;
};

/** An address and a port, as handles report them. */
export type ConnectionEnd = { address?: string; port?: number };

type StreamState = { readonly values: Int32Array; readonly readResult: number; readonly writeError: number };

const METHODS = ['readStart', 'readStop', 'useUserBuffer', 'writeLatin1String', 'writeBuffer', 'writev'];
const TCP_METHODS = [...METHODS, 'close', 'reset', 'getpeername', 'getsockname'];

/** Where handles leave the results of a call. */
const STATE = findState();
const VALUES = STATE?.values ?? new Int32Array(0);
const READ_RESULT = STATE?.readResult ?? 0;
const WRITE_ERROR = STATE?.writeError ?? 0;

/** What Node does not publish of a part of it; null if there is no way to it. @throws if there is no such part. */
export function bindingOf(name: string): object | null {
  const load: unknown = Reflect.get(process, 'binding');
  const binding: unknown = typeof load === 'function' ? load.call(process, name) : null;
  return typeof binding === 'object' ? binding : null;
}

function findState(): StreamState | null {
  const binding = bindingOf('stream_wrap');
  if (binding === null) return null;
  const member = (name: string): unknown => Reflect.get(binding, name);
  const [values, readResult, writeError] = ['streamBaseState', 'kReadBytesOrError', 'kLastWriteErr'].map(member);
  if (!(values instanceof Int32Array) || typeof readResult !== 'number' || typeof writeError !== 'number') return null;
  return { values, readResult, writeError };
}

/** A kind of handles: the methods that they need, and the prototypes of handles that have them. */
type HandleKind = { readonly methods: readonly string[]; readonly expected: WeakSet<object>; last: object | null };

function kindWith(methods: readonly string[]): HandleKind {
  return { methods, expected: new WeakSet(), last: null };
}

const STREAM = kindWith(METHODS);
const TLS_METHODS = [
  ...METHODS,
  ...['receive', 'setALPNProtocols', 'getALPNNegotiatedProtocol', 'getProtocol', 'getCipher'],
  ...['isSessionReused', 'shutdown', 'close', 'destroySSL', 'getpeername', 'getsockname'],
];
const TLS = kindWith(TLS_METHODS);
const TCP = kindWith(TCP_METHODS);

function has(value: unknown, kind: HandleKind): value is object {
  if (STATE === null || typeof value !== 'object' || value === null) return false;
  const prototype: object = Object.getPrototypeOf(value);
  if (prototype === kind.last) return true;
  if (!kind.expected.has(prototype)) {
    if (!('onread' in value) || !kind.methods.every((name) => typeof Reflect.get(value, name) === 'function')) return false;
    kind.expected.add(prototype);
  }
  kind.last = prototype;
  return true;
}

const isHandle = (value: unknown): value is Handle => has(value, STREAM);
const isTlsHandle = (value: unknown): value is TlsHandle => has(value, TLS);
const isTcpHandle = (value: unknown): value is TcpHandle => has(value, TCP);

/** The handle of a socket; null if it is closed, or if it can only be used through its stream. */
export function handleOf(socket: Socket): Handle | null {
  const handle: unknown = Reflect.get(socket, '_handle');
  return isHandle(handle) ? handle : null;
}

/**
 * Makes a listening server pass on the handles of its connections instead of creating sockets for them. The connections inherit
 * TCP_NODELAY and the probes of CLIENT_PROBES from the server.
 * `failed` gets the error of a connection that could not be accepted.
 * @returns whether it does; if not, the server makes sockets as usual.
 */
export function acceptHandles(
  server: Server,
  accept: (handle: TcpHandle) => void,
  failed: (error: NodeJS.ErrnoException) => void,
): boolean {
  const handle: unknown = Reflect.get(server, '_handle');
  if (STATE === null || typeof handle !== 'object' || handle === null || process.platform !== 'linux') return false;
  const makeSocket: unknown = Reflect.get(handle, 'onconnection');
  const setNoDelay: unknown = Reflect.get(handle, 'setNoDelay');
  const setKeepAlive: unknown = Reflect.get(handle, 'setKeepAlive');
  if (typeof makeSocket !== 'function' || typeof setNoDelay !== 'function' || setNoDelay.call(handle, true) !== 0) return false;
  const { idleSecs, intervalSecs, count } = CLIENT_PROBES;
  if (typeof setKeepAlive !== 'function' || setKeepAlive.call(handle, true, idleSecs, intervalSecs, count) !== 0) return false;
  return Reflect.set(handle, 'onconnection', function (this: unknown, status: number, accepted: unknown): void {
    if (status !== 0) failed(systemError(status, 'accept'));
    else if (isTcpHandle(accepted)) accept(accepted);
    else makeSocket.call(this, status, accepted);
  });
}

/** The descriptor of a listening server, or of a connection; null if it has none. */
export function descriptorOf(owner: Server | Socket): number | null {
  const handle: unknown = Reflect.get(owner, '_handle');
  const descriptor: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : null;
  return typeof descriptor === 'number' && descriptor >= 0 ? descriptor : null;
}

/** Whether the system still knows a connection, even if it is half-closed: after a reset it doesn't. */
export function isConnected(owner: Socket | AcceptedHandle): boolean {
  const handle: unknown = owner instanceof Socket ? Reflect.get(owner, '_handle') : owner;
  if (typeof handle !== 'object' || handle === null) return false;
  const getpeername: unknown = Reflect.get(handle, 'getpeername');
  return typeof getpeername !== 'function' || getpeername.call(handle, {}) === 0;
}

/** The stream of a connection that has none yet, paused. */
export function streamOf(handle: AcceptedHandle, allowHalfOpen: boolean): Socket {
  // The declared types have neither `handle` nor `pauseOnCreate`.
  const options: object = { handle, allowHalfOpen, pauseOnCreate: true };
  return new Socket(options);
}

/** Wraps a connection in TLS; null if it is not as expected. Looked up on first use, because `node:tls` adds methods to the class. */
let wrapTls: ((handle: AcceptedHandle, context: object, isServer: true, hasWrites: false) => unknown) | null | undefined;

function findWrapTls(): typeof wrapTls {
  const binding = bindingOf('tls_wrap');
  const kind: unknown = binding && Reflect.get(binding, 'TLSWrap');
  const wrap: unknown = binding && Reflect.get(binding, 'wrap');
  if (typeof kind !== 'function' || typeof wrap !== 'function' || !isTlsHandle(Object.create(kind.prototype))) return null;
  if (SHUTDOWN_REQUEST === null) return null;
  return (...values) => Reflect.apply(wrap, binding, values);
}

/** Keeps the TLS object alive as long as its connection, which the library does not. */
const SECURED = Symbol('secured');

/**
 * Begins TLS on a connection that nothing has been written to, with the certificate and the options of a server.
 * `protocols` are those of ALPN as RFC 7301 3.1 lists them.
 * @returns null if it can't be begun in this way; the connection is then as before.
 */
export function tlsOver(handle: AcceptedHandle, server: TlsServer, protocols: Buffer): TlsHandle | null {
  if (wrapTls === undefined) wrapTls = findWrapTls();
  const shared: unknown = Reflect.get(server, '_sharedCreds');
  const context: unknown = typeof shared === 'object' && shared !== null ? Reflect.get(shared, 'context') : null;
  if (wrapTls == null || typeof context !== 'object' || context === null) return null;
  const tls = wrapTls(handle, context, true, false);
  if (!isTlsHandle(tls)) throw new Error("Node's TLS is not as expected");
  // It needs the parent for `close` and for the addresses.
  Object.assign(tls, { _parent: handle, reading: false });
  Object.assign(handle, { [SECURED]: tls });
  tls.setALPNProtocols(protocols);
  return tls;
}

/** The stream of a TLS connection whose handshake is complete, paused. As with those of Node, closing it frees `ssl`. */
export function tlsStreamOf(handle: TlsHandle): Socket {
  const options: object = { handle, allowHalfOpen: true, pauseOnCreate: true };
  return Object.assign(new Socket(options), { encrypted: true, ssl: handle });
}

type RequestType = new () => object;
/** The type of the requests that end the writing side; null if it is not as expected. */
const SHUTDOWN_REQUEST = findShutdownRequest();

function findShutdownRequest(): RequestType | null {
  const binding = bindingOf('stream_wrap');
  const type: unknown = binding && Reflect.get(binding, 'ShutdownWrap');
  return typeof type === 'function' ? (type as RequestType) : null;
}

/** Writes close_notify, so that the client knows that nothing is missing. To be called when all writes are complete, right before closing. */
export function notifyOfClose(handle: TlsHandle): void {
  if (SHUTDOWN_REQUEST !== null) handle.shutdown(new SHUTDOWN_REQUEST());
}

/** Whether a socket's bytes go through TLS. */
export const isEncrypted = (socket: Socket): boolean => 'encrypted' in socket;

/**
 * Whether the connection of a TLS handle is gone. If a write of TLS itself, such as that of session tickets, fails because the peer has
 * reset the connection, the error is dropped: reading then ends as if orderly, and later writes never complete.
 */
export function isGone(handle: Handle): boolean {
  const getPeerName: unknown = Reflect.get(handle, 'getpeername');
  return typeof getPeerName === 'function' && getPeerName.call(handle, {}) < 0;
}

const numberOf = (error: string): number => [...getSystemErrorMap()].find(([, [name]]) => name === error)?.[0] ?? Number.NaN;

/** The result of a read at the end of what the peer sends. */
export const END_OF_INPUT = numberOf('EOF');

/** The result of `readStart` if the handle is already being read. */
export const ALREADY_READING = numberOf('EALREADY');

/** Within `onread`: how many bytes were read, or a negative error number, which may stand for the end. */
export const readResult = (): number => VALUES[READ_RESULT] ?? 0;

/** Right after a call that returned a write that is under way: the error number that it failed with, or 0. */
export const writeError = (): number => VALUES[WRITE_ERROR] ?? 0;

/** What a stream reports for an error number. */
export function systemError(status: number, call: 'read' | 'write' | 'accept'): NodeJS.ErrnoException {
  const code = getSystemErrorName(status);
  return Object.assign(new Error(`${call} ${code}`), { errno: status, code, syscall: call });
}
