import type { CacheEntry } from '../../cache-messages.ts';

/** A client that is being sent a body, or several. */
export interface BodyUser {
  /** Others need the memory of the body: the response is cut off. */
  cut(): void;
}

/**
 * The bodies that are not stored, or not any more, which only clients that do not read as fast as they could keep in memory. Together they
 * are limited: those whose clients have read nothing for the longest time are cut off first.
 */
export class Leftovers {
  /** Bytes of each, the one that has waited longest first. */
  private readonly bodies = new Map<BodyUser, number>();
  private bytes = 0;
  /** Bytes. */
  most = 0;

  /** Notes how much memory a body takes now, because a client has read a part of it or for another reason; 0: it is not left over. */
  note(body: BodyUser, bytes: number): void {
    this.forget(body);
    if (bytes === 0) return;
    this.bodies.set(body, bytes);
    this.bytes += bytes;
    for (const waiting of this.bodies.keys()) {
      if (this.bytes <= this.most) break;
      this.forget(waiting);
      waiting.cut();
    }
  }

  private forget(body: BodyUser): void {
    this.bytes -= this.bodies.get(body) ?? 0;
    this.bodies.delete(body);
  }
}

/** What is left over: `purged` are the bodies that a purge of many responses has removed, which would cut off most downloads at once. */
export type Left = { readonly others: Leftovers; readonly purged: Leftovers };

/** Why a body is stored no more. After a change of the cache's size, which no client can cause, nothing is cut off. */
export type Removal = 'replaced or evicted' | 'purged' | 'resized';

/** The bodies of stored responses, and of those that clients are still being sent. */
export class StoredBodies {
  private readonly bodies = new Map<number, StoredBody>();
  private readonly left: Left;
  /** Those that clients are being sent, by the entry of another worker that has the same one. */
  private readonly elsewhere = new Map<number, StoredBody>();

  constructor(left: Left) {
    this.left = left;
  }

  /** An entry with this body has been stored, maybe by another worker: then it is not left over. */
  keepFor({ id, bodyId }: Pick<CacheEntry, 'id' | 'bodyId'>): void {
    const body = this.bodies.get(bodyId);
    if (body === undefined || !body.isUsed) return;
    this.elsewhere.set(id, body);
    body.stored();
  }

  /** The entry with this number is stored no more. */
  gone(id: number, why: Removal): void {
    this.elsewhere.get(id)?.removed(why);
    this.elsewhere.delete(id);
  }

  of({ bodyId, length }: Pick<CacheEntry, 'bodyId' | 'length'>): StoredBody {
    return this.bodies.get(bodyId) ?? new StoredBody(bodyId, length, this.bodies, this.left);
  }
}

/** The body of a stored response, and of those that are the same one with a newer head. */
export class StoredBody implements BodyUser {
  private readonly id: number;
  private readonly bytes: number;
  private readonly bodies: Map<number, StoredBody>;
  private readonly left: Left;
  private readonly users = new Set<BodyUser>();
  private entries = 0;
  private why: Removal = 'replaced or evicted';

  constructor(id: number, bytes: number, bodies: Map<number, StoredBody>, left: Left) {
    this.id = id;
    this.bytes = bytes;
    this.bodies = bodies;
    this.left = left;
  }

  stored(): void {
    this.entries++;
    this.changed();
  }

  removed(why: Removal): void {
    this.entries--;
    this.why = why;
    this.changed();
  }

  /** A client waits for more of it, or some of several, and has just been sent a part. */
  use(user: BodyUser): void {
    this.users.add(user);
    this.changed();
  }

  leave(user: BodyUser): void {
    if (this.users.delete(user)) this.changed();
  }

  cut(): void {
    for (const user of [...this.users]) user.cut();
  }

  /** Whether clients are being sent it. */
  get isUsed(): boolean {
    return this.users.size > 0;
  }

  private changed(): void {
    const { isUsed } = this;
    if (isUsed || this.entries > 0) this.bodies.set(this.id, this);
    else this.bodies.delete(this.id);
    const bytes = isUsed && this.entries === 0 ? this.bytes : 0;
    this.left.others.note(this, this.why === 'replaced or evicted' ? bytes : 0);
    this.left.purged.note(this, this.why === 'purged' ? bytes : 0);
  }
}
