import { useEffect, useState } from 'preact/hooks';
import type { Overview } from '../../../../../shared/wire/dashboard.ts';
import { ApiFailure, request } from './api.ts';
import { EventParser } from './event-stream.ts';

/** What the proxy reports every two seconds, and whether it still does. */
export type Live = {
  readonly overview: Overview | null;
  readonly state: 'connecting' | 'live' | 'lost';
  /** The token is missing or was refused. */
  readonly unauthorized: boolean;
};

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
/** A stream that is silent for this long has been cut without notice (ms). */
const SILENCE_MS = 10_000;

/** Follows the stream while the page is visible. `attempt` changes when there is a new token. */
export function useLive(attempt: number): Live {
  const [live, setLive] = useState<Live>({ overview: null, state: 'connecting', unauthorized: false });
  useEffect(() => {
    let ended = new AbortController();
    const follow = () => {
      ended.abort();
      ended = new AbortController();
      if (document.visibilityState === 'visible')
        void keepFollowing(ended.signal, (change) => setLive((before) => ({ ...before, ...change })));
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      ended.abort();
    };
  }, [attempt]);
  return live;
}

async function keepFollowing(ended: AbortSignal, changed: (change: Partial<Live>) => void): Promise<void> {
  let wait = FIRST_RETRY_MS;
  while (!ended.aborted) {
    try {
      await followOnce(ended, (overview) => {
        wait = FIRST_RETRY_MS;
        changed({ overview, state: 'live', unauthorized: false });
      });
    } catch (error) {
      if (ended.aborted) return;
      if (error instanceof ApiFailure && error.status === 401) return changed({ state: 'lost', unauthorized: true });
    }
    if (ended.aborted) return;
    changed({ state: 'lost' });
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LAST_RETRY_MS);
  }
}

/** Returns when the stream ends. @throws ApiFailure if it could not be opened, or whatever cuts it. */
async function followOnce(ended: AbortSignal, received: (overview: Overview) => void): Promise<void> {
  const silent = new AbortController();
  const listen = () => setTimeout(() => silent.abort(), SILENCE_MS);
  let timer = listen();
  try {
    const response = await request('events?view=dashboard', AbortSignal.any([ended, silent.signal]));
    const parser = new EventParser();
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return;
      clearTimeout(timer);
      timer = listen();
      for (const { event, data } of parser.push(piece.value)) if (event === 'overview') received(JSON.parse(data) as Overview);
    }
  } finally {
    clearTimeout(timer);
  }
}
