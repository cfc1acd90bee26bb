import { HeldShare } from '../client/held-share.ts';
import { UnreadShare } from '../client/http2/unread-share.ts';
import { advance, settle } from '../codec/http2/limits/advance.ts';
import { countQueued, muchIsQueued } from '../codec/http2/limits/queued-requests.ts';
import { ReceiveWindow } from '../codec/http2/limits/receive-window.ts';

/** The limits of a thread: for what its streams keep, for what its clients leave unread, and for what its requests have waiting (bytes). */
const [KEPT, UNREAD, QUEUED] = [134_217_728, 134_217_728, 67_108_864];
/** That for bodies that are held (bytes). */
const HELD = 268_435_456;
/** Those for its windows: for their growth, and for those of connections with uploads. */
const [GROWTH, WIDENED] = [67_108_864, 268_435_456];
/** What a client may not leave unread for long. */
const MUCH = 100_000;
const MINUTE = 60_000;

/** Test support: which limits of this thread still count something. Nothing may be open. */
export function stillCounted(): string[] {
  return [
    ...(allKept() ? [] : ['what streams keep']),
    ...(isUnread() ? ['what clients leave unread'] : []),
    ...(allHeld() ? [] : ['bodies that are held']),
    ...(allWaits() ? [] : ['what waits for targets']),
    ...(allGrow() && allWidens() ? [] : ['windows']),
  ];
}

/** Whether all may be kept that may be kept at all. */
function allKept(): boolean {
  const stream = { advanced: 0 };
  const kept = advance(stream, KEPT);
  settle(stream, kept);
  return kept === KEPT;
}

/** Whether a client has to give up some of what brings all clients to the limit exactly. */
function isUnread(): boolean {
  const [others, one] = [new UnreadShare(0), new UnreadShare(0)];
  others.count(UNREAD - MUCH);
  let excess = 0;
  for (let now = 0; now < MINUTE; now += 500) excess = Math.max(excess, one.sweep(now, MUCH, 0));
  for (const share of [others, one]) share.count(0);
  return excess > 0;
}

/** Whether a window can grow by as much as all windows may grow together. */
function allGrow(): boolean {
  const window = new ReceiveWindow(GROWTH, 2 * GROWTH);
  window.receive(GROWTH);
  const opened = window.consume(GROWTH);
  window.release();
  return opened === 2 * GROWTH;
}

/** Whether all may wait that may wait at all, and no more. */
function allWaits(): boolean {
  countQueued(QUEUED);
  const tooMuch = muchIsQueued();
  countQueued(1);
  const enough = muchIsQueued();
  countQueued(-QUEUED - 1);
  return !tooMuch && enough;
}

/** Whether a window can be widened by as much as all windows may be. */
function allWidens(): boolean {
  const window = new ReceiveWindow(1, 1);
  const more = window.widen(WIDENED + 1);
  window.release();
  return more === WIDENED;
}

/** Whether bodies may be held as long as the limit says, and no longer. */
function allHeld(): boolean {
  const [share, more] = [new HeldShare(), new HeldShare()];
  const enough = share.reserve(HELD);
  const tooMuch = more.reserve(1);
  for (const one of [share, more]) one.release();
  return enough && !tooMuch;
}
