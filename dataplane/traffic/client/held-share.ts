import { withinMemory } from '../../../shared/runtime/thread-memory.ts';

/** What bodies that a thread holds may have as announced lengths in all (bytes). */
const MOST = 268_435_456;
/** At most this part of the thread's memory. */
const PART = 8;
/** At least this much (bytes). */
const LEAST = 8_388_608;

/** One HTTP/2 connection may announce many bodies at no cost. It has at most this part, but at least so much (bytes). */
const CONNECTION_PART = 16;
const LEAST_OF_CONNECTION = 1_048_576;

let total = 0;

/** What the bodies of an HTTP/2 connection have that are held (bytes). */
export type ConnectionShare = { held: number };

/**
 * How much of its thread's memory the body of one request has while it is held: from its head until its response begins. Clients that send
 * slowly, or wait for a target that does not respond, could otherwise fill the memory with 64 KB for each connection.
 */
export class HeldShare {
  private bytes = 0;
  private readonly connection: ConnectionShare | null;

  /** `connection`: that of an HTTP/2 request, which shares it with others. */
  constructor(connection: ConnectionShare | null = null) {
    this.connection = connection;
  }

  /** @returns whether a body of this length may be held. Otherwise it has to be passed on as it arrives. */
  reserve(bytes: number): boolean {
    this.release();
    const { connection } = this;
    const most = withinMemory(MOST, PART, LEAST);
    if (total + bytes > most) return false;
    if (connection !== null && connection.held + bytes > Math.max(LEAST_OF_CONNECTION, most / CONNECTION_PART)) return false;
    this.count(bytes);
    return true;
  }

  /** The body is no longer needed. May be called several times. */
  release(): void {
    this.count(0);
  }

  private count(bytes: number): void {
    const more = bytes - this.bytes;
    total += more;
    if (this.connection !== null) this.connection.held += more;
    this.bytes = bytes;
  }
}
