import type { DirectSocket } from './direct-socket.ts';

type Failure = Error & { readonly code?: unknown };
type WriteCallback = (error?: Failure | null) => void;

/**
 * Keeps failed writes from the socket, which Node would destroy with all that has arrived and not been read: the peer may have said why it
 * closed the connection. Reading continues to the end. `survives` is called with each error; the socket gets those for which it returns
 * false. After one that it has not got, nothing more can be written, and what is written is kept until the socket is destroyed.
 */
export function surviveFailedWrites(direct: DirectSocket, survives: (error: Failure) => boolean): void {
  direct.adoptWrites();
  const { socket } = direct;
  const { _write: write, _writev: writev } = socket;
  const without =
    (written: WriteCallback): WriteCallback =>
    (error) => {
      if (error == null || !survives(error)) written(error);
    };
  socket._write = (chunk: unknown, encoding, written) => write.call(socket, chunk, encoding, without(written));
  if (writev !== undefined) socket._writev = (chunks, written) => writev.call(socket, chunks, without(written));
}
