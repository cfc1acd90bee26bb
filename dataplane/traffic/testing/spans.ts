import assert from 'node:assert/strict';
import { LineRing } from '../../ledger/line-ring.ts';
import { eventually, type ProxyFixture } from './proxy/test-proxy.ts';

type Value = { stringValue?: string; intValue?: string };
// biome-ignore format: a span as tests read it
export type Span = { traceId: string; spanId: string; parentSpanId?: string; name: string; kind: number; startTimeUnixNano: string; endTimeUnixNano: string;
  attributes: { key: string; value: Value }[]; events?: { timeUnixNano: string; name: string }[]; status?: { code: number; message?: string } };

/** Test support: all spans that the worker has written, each line with the number of spans that it states. */
export function spansOf(proxy: ProxyFixture): Span[] {
  const spans: Span[] = [];
  new LineRing(proxy.ledger.buffers.spans, proxy.slot).read((count, bytes, from, to) => {
    const line = JSON.parse(`[${bytes.toString('latin1', from, to)}]`) as Span[];
    assert.equal(line.length, count);
    spans.push(...line);
  });
  return spans;
}

export async function awaitedSpans(proxy: ProxyFixture, meanwhile = (): void => undefined): Promise<Span[]> {
  let spans: Span[] = [];
  await eventually('the spans', () => {
    meanwhile();
    spans = spansOf(proxy);
    return spans.length > 0;
  });
  return spans;
}

export const attributesOf = ({ attributes }: Span): Record<string, string | undefined> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
