import { setTimeout as pause } from 'node:timers/promises';
import { collectDefaultMetrics, type Registry } from 'prom-client';

/** The delay of the event loop is the time between two of its turns that are at least 10 ms apart. */
const MEASUREMENT_MS = 11;
/** How many such turns there are before the first scrape is answered, however busy the thread is. */
const FIRST_TURNS = 4;

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
  for (let turn = 0; turn < FIRST_TURNS; turn++) await pause(MEASUREMENT_MS);
}
