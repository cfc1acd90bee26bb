import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Range } from '../../analytics/history/range.ts';
import { ApiError } from '../http/errors.ts';
import type { Subscribe } from './event-stream.ts';

const HOUR_MS = 3_600_000;
/** How often the history of a period is sent again, by what its points stand for (ms). */
const HOURS_EVERY_MS = 10_000;
const DAYS_EVERY_MS = 60_000;

/**
 * The history of a period, at once and then again and again, as the event `history`. If there is none, the event has `error` and the
 * `status` that its endpoint would respond with.
 */
export const historyEvents =
  (text: () => Promise<string>, { step }: Range, clock: Clock): Subscribe =>
  (send) => {
    let asking = false;
    let ended = false;
    const ask = async (): Promise<void> => {
      if (asking) return;
      asking = true;
      const data = await text().catch(failure);
      asking = false;
      if (!ended) send(`event: history\ndata: ${data}\n\n`, 'history');
    };
    void ask();
    const stop = clock.every(step === HOUR_MS ? HOURS_EVERY_MS : DAYS_EVERY_MS, () => void ask());
    return () => {
      ended = true;
      stop();
    };
  };

function failure(error: unknown): string {
  if (error instanceof ApiError) return JSON.stringify({ status: error.status, ...error.body });
  return JSON.stringify({ status: 500, error: error instanceof Error ? error.message : String(error) });
}
