import type { Socket } from 'node:net';
import type { DirectReader } from './direct-socket.ts';

/** Receives the bytes of an accepted connection, and its events. What one of its methods throws is passed to `onFault`. */
export interface AcceptedReader extends DirectReader {
  /** The client has ended its side. */
  onEnd(): void;
  /** More can be written. */
  onDrain(): void;
  /** The connection has been closed, possibly after an error. Called in a later tick. */
  onClose(): void;
}

/** The listeners of a connection's stream. */
export type StreamListeners = Readonly<Record<'end' | 'drain' | 'error' | 'close', () => void>>;

/** Reports the close of a connection. */
export function closed(reader: AcceptedReader): void {
  try {
    reader.onClose();
  } catch (error) {
    reader.onFault(error);
  }
}

/** Reports the events of a stream, except for what it reads. What the reader throws is passed to it. */
export function listen(socket: Socket, reader: AcceptedReader): StreamListeners {
  const guarded = (act: () => void) => (): void => {
    try {
      act();
    } catch (error) {
      reader.onFault(error);
    }
  };
  const listeners: StreamListeners = {
    end: guarded(() => reader.onEnd()),
    drain: guarded(() => reader.onDrain()),
    // The close event that follows is reported.
    error: () => void socket.destroy(),
    close: () => closed(reader),
  };
  socket.on('end', listeners.end).on('drain', listeners.drain).on('error', listeners.error).on('close', listeners.close);
  return listeners;
}
