import type { Socket } from 'node:net';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { bindingOf, type ConnectionEnd, descriptorOf, readResult } from './node-handle.ts';

/*
 * Listening sockets are passed to another process or thread through a Unix socket (SCM_RIGHTS, unix(7)), which Node documents only for child
 * processes. When the last descriptor of a listening socket is closed, the kernel resets the connections in its queue; with a successor
 * that has a descriptor of it, too, that does not happen. If a version of Node has other handles, nothing is passed.
 */

/** How long the other side may take (ms). */
const RECEIVE_MS = 2_000;

/** A listening socket of any thread of this process. The name has no line break. */
export type NamedDescriptor = { readonly name: string; readonly descriptor: number };

/** A listening socket that was received, for `server.listen(handle)`. */
export type PassedHandle = { close(): void; getsockname?(end: ConnectionEnd): number };

/** One end of a Unix socket that descriptors can be passed through. */
type Pipe = {
  onread: (bytes?: ArrayBuffer) => void;
  /** Within `onread`: what was passed with the bytes. */
  pendingHandle?: PassedHandle | null;
  open(descriptor: number): number;
  connect(request: Request, path: string): number;
  readStart(): number;
  writeUtf8String(request: Request, text: string, handle: object): number;
  close(): void;
};
type Request = { oncomplete: (status: number) => void };
/** What Node does not document. */
type Internals = {
  pipe(): Pipe;
  listener(): Pick<Pipe, 'open'>;
  request(kind: 'connect' | 'write', oncomplete: (status: number) => void): Request;
};

let internals: Internals | null | undefined;

/**
 * Sends listening sockets to the other side of a connection, and closes it. To be called in the main thread, whose handles live as long as
 * the process: others own the descriptors of the handles made here, so these are never closed.
 * @param connection a connection of a Unix socket, paused from the start
 * @returns whether they are being sent; if not, the connection is closed without any.
 */
export function passSockets(connection: Socket, sockets: readonly NamedDescriptor[]): boolean {
  internals ??= findInternals();
  const pipe = internals?.pipe();
  const descriptor = descriptorOf(connection);
  if (internals === null || pipe === undefined || descriptor === null || pipe.open(descriptor) !== 0) {
    connection.destroy();
    return false;
  }
  // From here on, the pipe owns the descriptor.
  let unsent = 1;
  const sent = (): void => {
    if (--unsent === 0) pipe.close();
  };
  for (const { name, descriptor } of sockets) {
    const listener = internals.listener();
    // Its thread may have ended meanwhile.
    if (listener.open(descriptor) === 0 && pipe.writeUtf8String(internals.request('write', sent), `${name}\n`, listener) === 0) unsent++;
  }
  sent();
  return true;
}

/** The listening sockets that a worker has received, by name. */
export class PassedSockets {
  static readonly none = new PassedSockets([]);
  private readonly handles: Map<string, PassedHandle>;

  constructor(handles: Iterable<readonly [string, PassedHandle]>) {
    this.handles = new Map(handles);
  }

  /**
   * The socket of this name, if it is one of this port (0 for any). A descriptor that was closed before it was passed may be another socket
   * by then. The caller has to close it.
   */
  take(name: string, port: number): PassedHandle | null {
    const handle = this.handles.get(name) ?? null;
    const end: ConnectionEnd = {};
    if (handle === null || (port !== 0 && (handle.getsockname?.(end) !== 0 || end.port !== port))) return null;
    this.handles.delete(name);
    return handle;
  }

  /** Closes those that were not taken. */
  closeRest(): void {
    for (const handle of this.handles.values()) handle.close();
    this.handles.clear();
  }
}

/** Receives what `passSockets` sends at the other end of a Unix socket; nothing if that fails or takes too long. */
export function receiveSockets(path: string, clock: Clock): Promise<PassedSockets> {
  internals ??= findInternals();
  const { pipe, request } = internals ?? {};
  if (pipe === undefined || request === undefined) return Promise.resolve(PassedSockets.none);
  return new Promise((resolve) => receive(pipe(), request, path, clock, (named) => resolve(new PassedSockets(named))));
}

function receive(
  pipe: Pipe,
  request: Internals['request'],
  path: string,
  clock: Clock,
  done: (named: Iterable<readonly [string, PassedHandle]>) => void,
): void {
  const named: (readonly [string, PassedHandle])[] = [];
  let finished = false;
  const finish = (): void => {
    if (finished) return;
    finished = true;
    cancel();
    pipe.close();
    done(named);
  };
  const cancel = clock.after(RECEIVE_MS, finish);
  pipe.onread = (bytes) => {
    const handle = pipe.pendingHandle ?? null;
    pipe.pendingHandle = null;
    const length = readResult();
    // The system ends a read after the bytes that a descriptor came with. Without a free descriptor, it delivers the bytes alone.
    if (handle !== null) named.push([lastLine(Buffer.from(bytes ?? new ArrayBuffer(0), 0, Math.max(0, length))), handle]);
    if (length < 0) finish();
  };
  const connected = (status: number): void => {
    if (status !== 0 || (!finished && pipe.readStart() !== 0)) finish();
  };
  if (pipe.connect(request('connect', connected), path) !== 0) finish();
}

const lastLine = (bytes: Buffer): string => bytes.toString().trimEnd().split('\n').at(-1) ?? '';

function findInternals(): Internals | null {
  const member = (binding: string, name: string): unknown => Reflect.get(bindingOf(binding) ?? {}, name);
  const kind = (binding: string, name: string): unknown => Reflect.get(Object(member(binding, 'constants')), name);
  const [Pipe, Tcp] = [member('pipe_wrap', 'Pipe'), member('tcp_wrap', 'TCP')];
  const [Connect, Write] = [member('pipe_wrap', 'PipeConnectWrap'), member('stream_wrap', 'WriteWrap')];
  const [passing, listening] = [kind('pipe_wrap', 'IPC'), kind('tcp_wrap', 'SERVER')];
  if (!isTypeWith<Pipe>(Pipe, 'open', 'connect', 'readStart', 'writeUtf8String', 'close') || typeof passing !== 'number') return null;
  if (!isTypeWith<Pick<Pipe, 'open'>>(Tcp, 'open') || typeof listening !== 'number') return null;
  if (!isTypeWith<object>(Connect) || !isTypeWith<object>(Write)) return null;
  return {
    pipe: () => new Pipe(passing),
    listener: () => new Tcp(listening),
    request: (type, oncomplete) => Object.assign(new (type === 'connect' ? Connect : Write)(), { oncomplete }),
  };
}

function isTypeWith<T>(type: unknown, ...methods: readonly string[]): type is new (kind?: number) => T {
  return typeof type === 'function' && methods.every((name) => typeof Reflect.get(Object(type.prototype), name) === 'function');
}
