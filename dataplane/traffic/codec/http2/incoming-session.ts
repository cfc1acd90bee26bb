import type { TurnoverMap } from '../../../../shared/runtime/turnover-map.ts';
import { ERROR } from './frames/frame.ts';
import type { PeerSettings } from './frames/settings.ts';
import type { RequestBlock } from './headers/request-block.ts';
import type { ResponseBlock } from './headers/response-block.ts';
import type { HpackDecoder } from './hpack/decoder.ts';
import type { ClosedStreams } from './limits/closed-streams.ts';
import type { FloodBudget } from './limits/flood-budget.ts';
import type { ReceiveWindow } from './limits/receive-window.ts';
import type { Resets } from './limits/resets.ts';
import type { Sender } from './sender.ts';
import type { Http2Stream } from './stream.ts';

/** What the frames of a connection act on. */
export interface IncomingSession {
  readonly limits: { readonly isServer: boolean; readonly streams: number; readonly connectionWindow: number; readonly fieldList: number };
  readonly peer: PeerSettings;
  readonly streams: Pick<TurnoverMap<number, Http2Stream>, 'size' | 'get' | 'values'>;
  readonly closed: ClosedStreams;
  readonly budget: FloodBudget;
  readonly decoder: HpackDecoder;
  readonly sender: Sender;
  readonly window: ReceiveWindow;
  readonly resets: Resets;
  lastPeerStream: number;
  readonly lastAccepted: number;
  readonly ended: boolean;
  readonly isFull: boolean;
  isIdle(id: number): boolean;
  accept(id: number): Http2Stream;
  discard(bytes: number): void;
  settingsAcknowledged(): void;
  pingAcknowledged(payload: Buffer): void;
  /** The peer completes streams up to this one, and accepts no further ones. `code`: ERROR.none unless an error ends the connection. */
  goAwayReceived(lastStream: number, code: number): void;
  streamError(id: number, code: number): void;
  fail(code: number, reason: string): void;
}

/** Is notified of what arrives. */
export interface IncomingOwner {
  /** A request has arrived, decoded but not completed; if `tooLarge`, some of its fields are missing. */
  request(stream: Http2Stream, block: RequestBlock, tooLarge: boolean): void;
  /** A response, interim or final, has arrived, decoded but not completed. */
  response(stream: Http2Stream, block: ResponseBlock, tooLarge: boolean): void;
  /** The peer's first SETTINGS, or changed ones. */
  settingsChanged(settings: PeerSettings): void;
}

/** Counts what a frame costs that changes nothing: too many of them end the connection. */
export function spend(session: IncomingSession, cost: number): void {
  if (!session.budget.spend(cost)) session.fail(ERROR.enhanceYourCalm, 'too many frames that change nothing');
}
