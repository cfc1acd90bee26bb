import { setTimeout as pause } from 'node:timers/promises';
import { collectDefaultMetrics, type Registry } from 'prom-client';

/** How long the delay of the event loop is measured before the first scrape is answered (ms). One measurement takes 10 ms. */
const FIRST_MEASUREMENT_MS = 30;

/**
 * Adds Node's own metrics to a registry at the first scrape, as measuring the delay of the event loop wakes an idle process a hundred times a
 * second. @returns the function to wait for before each scrape.
 */
export function nodeMetricsFromFirstScrape(registry: Registry): () => Promise<void> {
  let measured: Promise<void> | null = null;
  return () => {
    measured ??= collect(registry);
    return measured;
  };
}

async function collect(registry: Registry): Promise<void> {
  collectDefaultMetrics({ register: registry });
  await pause(FIRST_MEASUREMENT_MS);
}
