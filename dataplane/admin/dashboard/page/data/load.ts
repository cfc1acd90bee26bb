import { useEffect, useRef, useState } from 'preact/hooks';
import { ERRORS } from '../strings.ts';
import { get, RequestFailure } from './api.ts';

/** `value` stays unchanged while a newer one is being loaded. */
export type Loaded<T> = { readonly value: T | null; readonly failure: string | null; readonly status: number; readonly loading: boolean };

const AGAIN_MS = 5_000;
/** The minimum time between two loads, so that many changes in a row don't use up the Admin API's rate limit. */
const VERSION_MS = 10_000;

/** Loads a path of the Admin API now and every `everyMs` (0: once), as long as the page is visible, and whenever `version` changes. */
export function useLoaded<T>(path: string, everyMs = 0, version: string | number = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path: string }>({ path, value: null, failure: null, status: 0, loading: true });
  const begun = useRef({ path, at: Number.NEGATIVE_INFINITY });
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      clearTimeout(timer);
      if (document.visibilityState !== 'visible') return;
      begun.current = { path, at: performance.now() };
      setLoaded((before) => ({ ...before, value: before.path === path ? before.value : null, path, loading: true }));
      let next = everyMs;
      try {
        const value = await get<T>(path, ended.signal);
        setLoaded({ path, value, failure: null, status: 200, loading: false });
      } catch (error) {
        if (ended.signal.aborted) return;
        const { status, message } = error instanceof RequestFailure ? error : { status: 0, message: String(error) };
        setLoaded((before) => ({ ...before, failure: message || ERRORS.network, status, loading: false }));
        if (status === 0 || status === 429 || status >= 500) next = AGAIN_MS;
      }
      if (next > 0) timer = setTimeout(load, next);
    };
    const early = begun.current.path === path ? begun.current.at + VERSION_MS - performance.now() : 0;
    if (early > 0) timer = setTimeout(load, early);
    else void load();
    document.addEventListener('visibilitychange', load);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', load);
      ended.abort();
    };
  }, [path, everyMs, version]);
  return loaded.path === path ? loaded : { ...loaded, value: null, loading: true };
}
