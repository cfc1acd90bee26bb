import { useEffect, useRef, useState } from 'preact/hooks';
import { ERRORS } from '../strings.ts';
import { get, RequestFailure } from './api.ts';

/** `value` stays unchanged while a newer one is being loaded. */
export type Loaded<T> = { readonly value: T | null; readonly failure: string | null; readonly status: number; readonly loading: boolean };

const AGAIN_MS = 5_000;
/** The minimum time between two loads, so that many changes in a row don't use up the Admin API's rate limit. */
const VERSION_MS = 10_000;

/**
 * Loads a path of the Admin API now and every `everyMs` (0: once), as long as the page is visible, and whenever `version` changes. A load that
 * takes longer than the time between two changes is still finished: otherwise nothing would ever be shown.
 */
export function useLoaded<T>(path: string, everyMs = 0, version: string | number = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path: string }>({ path, value: null, failure: null, status: 0, loading: true });
  const known = useRef(version);
  const changed = useRef<() => void>(() => undefined);
  useEffect(() => {
    let current: AbortController | null = null;
    let begun = Number.NEGATIVE_INFINITY;
    let outdated = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(load, Math.max(0, begun + VERSION_MS - performance.now()));
    };
    const load = async () => {
      clearTimeout(timer);
      current?.abort();
      current = null;
      if (document.visibilityState !== 'visible') return;
      const own = new AbortController();
      current = own;
      outdated = false;
      begun = performance.now();
      setLoaded((before) => ({ ...before, value: before.path === path ? before.value : null, path, loading: true }));
      let next = everyMs;
      try {
        const value = await get<T>(path, own.signal);
        setLoaded({ path, value, failure: null, status: 200, loading: false });
      } catch (error) {
        if (own.signal.aborted) return;
        const { status, message } = error instanceof RequestFailure ? error : { status: 0, message: String(error) };
        setLoaded((before) => ({ ...before, failure: message || ERRORS.network, status, loading: false }));
        if (status === 0 || status === 429 || status >= 500) next = AGAIN_MS;
      }
      current = null;
      if (outdated && next !== AGAIN_MS) later();
      else if (next > 0) timer = setTimeout(load, next);
    };
    changed.current = () => {
      if (current === null) later();
      else outdated = true;
    };
    void load();
    document.addEventListener('visibilitychange', load);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', load);
      current?.abort();
    };
  }, [path, everyMs]);
  useEffect(() => {
    if (known.current !== version) changed.current();
    known.current = version;
  }, [version]);
  return loaded.path === path ? loaded : { ...loaded, value: null, loading: true };
}
