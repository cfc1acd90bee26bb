import type { Socket } from 'node:net';
import { type Handle, handleOf } from './node-handle.ts';

/** More bytes than a connection's own writes leave waiting, apart from those that its stream counts. */
const MAX_BACKLOG = 2_097_152;

/**
 * Whether a peer that reads nothing makes TLS send more and more: it answers each key update that requests one with another (RFC 8446
 * 4.6.3), and nothing else limits how many of these wait.
 */
export const hasBacklog = (handle: Handle | null, writableLength: number): boolean =>
  (handle?.writeQueueSize ?? 0) > writableLength + MAX_BACKLOG;

/** The same for a connection with a stream. */
export const streamHasBacklog = (socket: Socket): boolean => hasBacklog(handleOf(socket), socket.writableLength);
