import type { LogLine } from '../../../shared/runtime/log/log-line.ts';
import type { DomainReport } from '../../traffic/protocol.ts';
import type { AnswerFormat, HistoryAnswer } from './keeper.ts';
import type { RangeQuery } from './range.ts';
import type { Retention } from './store.ts';

/** The messages between the main thread and the history thread. */
export type HistoryStart = { readonly path: string; readonly retention: Retention };

export type ToHistory =
  | { readonly kind: 'add'; readonly reports: readonly DomainReport[] }
  | { readonly kind: 'answer'; readonly id: number; readonly host: string; readonly range: RangeQuery; readonly format: AnswerFormat }
  | { readonly kind: 'forget'; readonly id: number; readonly host: string }
  | { readonly kind: 'close' };

export type FromHistory =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: HistoryAnswer }
  /** Why it can't be read or saved, from now on; null if it can. */
  | { readonly kind: 'state'; readonly failure: string | null }
  | LogLine;
