import type { Http2Session } from 'node:http2';
import type { Socket } from 'node:net';

/*
 * Node 26 aborts the process where the native half of a session is freed while that of one of its streams lives that is in the
 * middle of a head: the fields so far are the session's memory (`~Http2Session`, `current_nghttp2_memory_ == 0`). No code of the
 * library's own sees to the order, so this does, see docs/decisions/0073-http2-sessions-are-freed-after-their-streams.md.
 */

/** What Node calls the property. There is no public one. */
const HANDLE = 'kHandle';
let property: symbol | undefined;

/** The native half of a session while that lives; null where this Node has none by that name, and nothing can be kept. */
export function nativeHalf(session: Http2Session): object | null {
  property ??= Object.getOwnPropertySymbols(session).find(({ description }) => description === HANDLE);
  const handle: unknown = property === undefined ? null : Reflect.get(session, property);
  return typeof handle === 'object' ? handle : null;
}

type Kept = { readonly half: object; readonly collections: number };

/** A registry holds on to what it is given until what that belongs to has been collected. */
const passing = new FinalizationRegistry<Kept>(({ half, collections }) => keepFor(half, collections - 1));

function keepFor(half: object, collections: number): void {
  if (collections > 0) passing.register({}, { half, collections });
}

/**
 * Opens a session on a socket, as `open` does, so that its streams are freed before it, and both are.
 *
 * A stream that ends while a write of its is under way is freed by the collector alone, and otherwise a turn or two after it has
 * ended. At the end of its session no stream can be reached any more, but the first collection after that may have looked at it
 * before, so the session is kept for two.
 *
 * And a session that ends before the writes on its socket do, never hears of them: it would hold them, and through them the stream,
 * for as long as it lives itself. It ends that early only where it is told of the socket's error. So it isn't: `close`
 * follows, when all writes are over, and tells it the same.
 */
export function openSession<S extends Http2Session>(socket: Socket, open: () => S): S {
  const others = socket.listeners('error');
  const session = open();
  for (const listener of socket.listeners('error')) if (!others.includes(listener)) socket.off('error', listener as () => void);
  socket.on('error', () => socket.destroy());
  let half = nativeHalf(session);
  session.once('connect', () => {
    half = nativeHalf(session);
  });
  session.once('close', () => {
    if (half !== null) keepFor(half, 2);
    half = null;
  });
  return session;
}
