import { Countries } from '../../../dataplane/traffic/match/countries.ts';
import { Recorder } from '../../../dataplane/traffic/record/recorder.ts';
import { BROWSERS } from '../../../dataplane/traffic/testing/samples/browsers.ts';
import { sampleExchange } from '../../../dataplane/traffic/testing/samples/sample-exchange.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { median } from '../figure.ts';

/** Prints how long it takes to count a page view (ns): its visitor, browser, page and response. */
const BATCHES = 3_000;
/** Few enough to stay in the processor's cache, as a single request does. */
const BATCH = 200;
const COLD = 500;
/** Batches between two reports. */
const REPORT = 100;

const recorder = new Recorder(Buffer.alloc(16), new Countries(null, memoryLog()));
const sample = sampleExchange({ method: 'GET', target: '/', kept: '', length: 0, chunked: false });
const route = { domain: 'a.test', fields: null, excluded: null };

/** A new string without a cached hash, like those that are cut from a request. */
const fresh = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

function pageView(nth: number): typeof sample {
  const agent = BROWSERS[nth % BROWSERS.length]?.fields['user-agent'] ?? '';
  return Object.assign(Object.create(Object.getPrototypeOf(sample)), sample, {
    target: fresh(`/articles/${nth % 50}`),
    path: fresh(`/articles/${nth % 50}`),
    client: { ...sample.client, address: fresh(`192.0.2.${nth}`) },
    host: fresh('a.test'),
    userAgent: fresh(agent),
    fetchDestination: 'document',
    referer: nth % 2 === 0 ? null : fresh('https://news.example/x'),
    contentType: fresh('text/html'),
    route,
    status: 200,
    bytesSent: 500,
  });
}

const times: number[] = [];
for (let batch = 0; batch < BATCHES; batch++) {
  const views = Array.from({ length: BATCH }, (_, nth) => pageView(nth));
  const begin = process.hrtime.bigint();
  for (const view of views) recorder.record(view, 1);
  if (batch >= COLD) times.push(Number(process.hrtime.bigint() - begin) / BATCH);
  if (batch % REPORT === 0) [...recorder.drain()];
}
process.stdout.write(`${median(times)}`);
