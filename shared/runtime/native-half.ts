import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';

/** What Node calls the property. There is no public one. */
const HANDLE = 'kHandle';
let property: symbol | undefined;

/** The native half of a session or a stream, while that lives; null where this Node has none by that name, and nothing can be kept. */
export function nativeHalf(half: ClientHttp2Session | ClientHttp2Stream): object | null {
  property ??= Object.getOwnPropertySymbols(half).find(({ description }) => description === HANDLE);
  const handle: unknown = property === undefined ? null : Reflect.get(half, property);
  return typeof handle === 'object' ? handle : null;
}

/** A registry holds on to what it is given until what that belongs to has been collected. */
const sessions = new FinalizationRegistry<object>(() => undefined);

/**
 * Keeps the native half of a session until that of a stream of its has been collected. A stream that ends in the middle of a
 * head still holds fields in the session's memory, and where the session is collected first, Node 26 aborts the process:
 * `~Http2Session`, `current_nghttp2_memory_ == 0`.
 */
export function keepUntilCollected(session: object | null, stream: object | null): void {
  if (session !== null && stream !== null) sessions.register(stream, session);
}
