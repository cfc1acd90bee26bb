import { withinMemory } from '../../../../shared/runtime/thread-memory.ts';

/**
 * What the clients of a thread may leave unread in all, with their requests that are held (bytes). Beyond that, each has less time to read
 * the more it is.
 */
const MAX_UNREAD = 134_217_728;
/** At most this part of the thread's memory. */
const PART = 16;
/** At least this much (bytes): a dozen visitors on slow lines with some pictures each. */
const LEAST = 8_388_608;
/**
 * The time in which a client has to read what it leaves unread (ms): at that limit, and at twice as much. At four times as much it has
 * none.
 */
const [LONGEST_MS, SHORTEST_MS] = [30_000, 1_000];
const EMERGENCY = 4;
/** What a client may leave unread however slowly it reads (bytes): one complete response. */
const ALWAYS_ALLOWED = 65_536;
/** The weight of the last interval in the pace of a client. */
const WEIGHT = 0.25;

let total = 0;

/**
 * How much of its responses the client of one connection leaves unread. A few bytes of requests cause a response of 64 KB, which waits here
 * once it is complete, and a connection has room for many: their clients could fill the memory of a worker at no cost. Requests whose
 * bodies are held cost them more, and take as much of it.
 */
export class UnreadShare {
  private bytes = 0;
  /** How fast the client reads (bytes per ms). */
  private pace = 0;
  /** Up to when it left no more unread than it may. */
  private allowedUntil: number;
  private sweptAt: number;

  /** `now` in ms on the monotonic clock. */
  constructor(now: number) {
    this.sweptAt = now;
    this.allowedUntil = now;
  }

  /**
   * Called periodically with what waits to be sent to the client, what has been sent to it since the last call, and how much of the former
   * is of its oldest response and its oldest request that is held (bytes). These are never given up, so they take no one's share, and
   * neither do many slow downloads.
   * @returns how much of its responses has to be given up.
   */
  sweep(now: number, unread: number, read: number, oldest = 0): number {
    this.count(unread - oldest);
    if (now > this.sweptAt) this.pace += WEIGHT * (read / (now - this.sweptAt) - this.pace);
    this.sweptAt = now;
    const patience = patienceMs();
    const allowed = Math.max(ALWAYS_ALLOWED, oldest, this.pace * patience);
    if (total > maxUnread() && unread > allowed) return now - this.allowedUntil >= patience ? unread - allowed : 0;
    this.allowedUntil = now;
    return 0;
  }

  /** Replaces what was counted before. */
  count(unread: number): void {
    total += unread - this.bytes;
    this.bytes = unread;
  }
}

const maxUnread = (): number => withinMemory(MAX_UNREAD, PART, LEAST);

function patienceMs(): number {
  // However little memory there is: this limit has no least.
  if (total >= withinMemory(EMERGENCY * MAX_UNREAD, PART / EMERGENCY)) return 0;
  return Math.max(SHORTEST_MS, LONGEST_MS * Math.min(1, 2 - total / maxUnread()));
}
