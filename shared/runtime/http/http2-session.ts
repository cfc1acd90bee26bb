import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

/*
 * Node 26 aborts the process if the native object of a session is freed while that of a stream in the middle of a header block is
 * still alive: the fields received so far use the session's memory (`~Http2Session`, `current_nghttp2_memory_ == 0`). Node does not
 * ensure the order, so this module does. See docs/decisions/0073-http2-sessions-are-freed-after-their-streams.md.
 */

/** Node's name for the property, which is not public. */
const HANDLE = 'kHandle';
let property: symbol | undefined;

/** The native object of an open session; null if this Node version has none by that name, so that it cannot be kept alive. */
export function nativeHandle(session: Http2Session): object | null {
  property ??= Object.getOwnPropertySymbols(session).find(({ description }) => description === HANDLE);
  const handle: unknown = property === undefined ? null : Reflect.get(session, property);
  return typeof handle === 'object' ? handle : null;
}

type KeptHandle = { readonly handle: object; readonly collections: number };

/** A registry keeps its held value alive until the registered object has been collected. */
const registry = new FinalizationRegistry<KeptHandle>(({ handle, collections }) => keepFor(handle, collections - 1));

function keepFor(handle: object, collections: number): void {
  if (collections > 0) registry.register({}, { handle, collections });
}

/**
 * Opens a session on a socket by calling `open`. Both the session and its streams are freed, the streams first.
 *
 * A stream that ends during one of its writes is freed only by the garbage collector, any other one or two event loop turns after it
 * ended. Once the session has ended, none of its streams is reachable. The next collection may have marked them before that, so the
 * session is kept for two collections.
 *
 * A session that ends before the writes on its socket never hears of their completion: it would keep them, and through them the stream,
 * for as long as it lives. It ends that early only if it is notified of the socket's error. Therefore it is not notified: the `close`
 * event follows once all writes are over, and has the same effect.
 */
export function openSession<S extends Http2Session>(socket: Socket, open: () => S): S {
  const others = socket.listeners('error');
  const session = open();
  for (const listener of socket.listeners('error')) if (!others.includes(listener)) socket.off('error', listener as () => void);
  socket.on('error', () => socket.destroy());
  let handle = nativeHandle(session);
  session.once('connect', () => {
    handle = nativeHandle(session);
  });
  session.once('close', () => {
    if (handle !== null) keepFor(handle, 2);
    handle = null;
  });
  return session;
}
