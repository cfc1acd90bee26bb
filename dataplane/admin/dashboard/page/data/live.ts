import { useEffect, useState } from 'preact/hooks';
import type { Overview } from '../../../../../shared/wire/dashboard.ts';
import type { History } from '../../../../../shared/wire/history.ts';
import { RequestFailure, request } from './api.ts';
import { EventParser } from './event-stream.ts';
import type { Loaded } from './load.ts';
import { setProxyTime } from './proxy-time.ts';

/** The page's query about visits: `domain` null means all hosts. `period` is the choice that the query, which moves on, stands for. */
export type Question = { readonly domain: string | null; readonly period: string; readonly query: string };

/** The proxy's latest report, sent every two seconds, and whether it still arrives. */
export type Live = {
  readonly overview: Overview | null;
  /** The answer to the question. While the period changes, it is that of the last one, and loading, unless the connection is lost. */
  readonly history: Loaded<History>;
  readonly state: 'connecting' | 'live' | 'lost';
  /** The proxy's message if it refused the stream; empty if it did not respond. */
  readonly refusal: string;
  /** The attempt whose token is missing or was refused; null if there is none. */
  readonly refused: number | null;
};

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
/** A stream that is silent for this long has been cut without notice (ms). */
const SILENCE_MS = 10_000;

const NOTHING: Loaded<History> = { value: null, failure: null, status: 0, loading: true };

/** Follows the one stream of the page while it is visible. `attempt` changes when there is a new token. */
export function useLive(attempt: number, { domain, period, query }: Question): Live {
  const [live, setLive] = useState<Live & Pick<Question, 'domain' | 'period'>>({
    overview: null,
    history: NOTHING,
    state: 'connecting',
    refusal: '',
    refused: null,
    domain,
    period,
  });
  useEffect(() => {
    let ended = new AbortController();
    const follow = () => {
      ended.abort();
      ended = new AbortController();
      if (document.visibilityState === 'visible')
        void keepFollowing(query, ended.signal, ({ unauthorized = false, ...change }) =>
          setLive((before) => {
            const isOfAnother = before.domain !== domain || (change.state === 'lost' && before.period !== period);
            return {
              ...before,
              ...(isOfAnother && { history: NOTHING }),
              ...change,
              refused: unauthorized ? attempt : null,
              domain,
              period: isOfAnother || change.history !== undefined ? period : before.period,
            };
          }),
        );
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      ended.abort();
    };
  }, [attempt, domain, period, query]);
  if (live.domain !== domain) return { ...live, history: NOTHING };
  return live.period === period ? live : { ...live, history: { ...live.history, loading: true } };
}

type Change = Partial<Omit<Live, 'refused'>> & { readonly unauthorized?: boolean };

async function keepFollowing(query: string, ended: AbortSignal, changed: (change: Change) => void): Promise<void> {
  let wait = FIRST_RETRY_MS;
  while (!ended.aborted) {
    let refusal = '';
    try {
      await followOnce(query, ended, (change) => {
        wait = FIRST_RETRY_MS;
        changed({ ...change, state: 'live' });
      });
    } catch (error) {
      if (ended.aborted) return;
      if (error instanceof RequestFailure && error.status === 401) return changed({ state: 'lost', unauthorized: true });
      if (error instanceof RequestFailure) refusal = error.message;
    }
    if (ended.aborted) return;
    changed({ state: 'lost', refusal });
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LAST_RETRY_MS);
  }
}

/** Returns when the stream ends. @throws RequestFailure if it could not be opened, or the error that cuts it off. */
async function followOnce(query: string, ended: AbortSignal, received: (change: Partial<Live>) => void): Promise<void> {
  const silent = new AbortController();
  const listen = () => setTimeout(() => silent.abort(), SILENCE_MS);
  let timer = listen();
  try {
    const response = await request(`events?view=dashboard${query}`, AbortSignal.any([ended, silent.signal]));
    const parser = new EventParser();
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const piece = await reader?.read();
      if (piece === undefined || piece.done) return;
      clearTimeout(timer);
      timer = listen();
      for (const { event, data } of parser.push(piece.value)) {
        if (event === 'overview') received({ overview: timed(JSON.parse(data) as Overview) });
        else if (event === 'history') received({ history: answerOf(JSON.parse(data) as History | Failure) });
      }
    }
  } finally {
    clearTimeout(timer);
  }
}

function timed(overview: Overview): Overview {
  setProxyTime(overview.at);
  return overview;
}

/** In place of the history, if there is none. */
type Failure = { readonly status: number; readonly error: string };

const answerOf = (answer: History | Failure): Loaded<History> =>
  'error' in answer
    ? { value: null, failure: answer.error, status: answer.status, loading: false }
    : { value: answer, failure: null, status: 200, loading: false };
