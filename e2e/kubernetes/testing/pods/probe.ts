import { ask } from '../../../testing/http.ts';
import type { ProbeSpec } from './pod.ts';

type Options = {
  readonly spec: ProbeSpec;
  readonly address: string;
  readonly port: number;
  /** Called after each probe. `failures`: how many have failed in a row. */
  seen(passed: boolean, failures: number): void;
};

/** Probes a container by HTTP, as the kubelet does. @returns a function that stops it. */
export function startProbe({ spec, address, port, seen }: Options): () => void {
  const { httpGet, initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1 } = spec;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const look = async () => {
    const passed = await Promise.race([answers(address, port, httpGet.path), expired(timeoutSeconds)]);
    if (isStopped) return;
    failures = passed ? 0 : failures + 1;
    seen(passed, failures);
    timer = setTimeout(look, periodSeconds * 1_000);
  };
  timer = setTimeout(look, initialDelaySeconds * 1_000);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

const answers = (host: string, port: number, path: string): Promise<boolean> =>
  ask({ host, port }, path).then(
    ({ status }) => status >= 200 && status < 400,
    () => false,
  );

/** A busy machine may be late; the tests are about which container is probed, and the consequences of the result. */
const expired = (seconds: number): Promise<false> => new Promise((resolve) => setTimeout(resolve, seconds * 10_000, false).unref());
