import type { Socket } from 'node:net';
import type { Clock } from '../../../shared/runtime/clock.ts';

/** How long the last bytes of a connection may take (ms), because a target that hangs may never read them, or never end its side. */
const LAST_BYTES_MS = 5_000;

/** Destroys a socket that is about to close if that takes too long. */
export function limitLastBytes(socket: Socket, clock: Clock): void {
  socket.once(
    'close',
    clock.after(LAST_BYTES_MS, () => socket.destroy()),
  );
}
