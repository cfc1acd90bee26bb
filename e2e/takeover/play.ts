import { HOST, HTTP_PORT, Scene } from './scene.ts';
import { type VisitorResults, Visitors } from './visitors.ts';

/** The results of the visitors, and how long it took. */
export type TakeoverResults = VisitorResults & { readonly seconds: number };

// Replaces processes under load. Arguments: the number of replacements, and the minimum number of requests.
const VISITORS = 24;
const PAUSE_MS = 5;

const [upgrades = 0, requests = 0] = process.argv.slice(2).map(Number);
const began = performance.now();
await using scene = await Scene.open();
await using visitors = new Visitors(HTTP_PORT, HOST, VISITORS, PAUSE_MS);
await visitors.more(500);
for (let done = 0; done < upgrades; done++) await scene.upgrade();
await visitors.more(Math.max(500, requests - visitors.answered));
const played: TakeoverResults = { ...(await visitors.stop()), seconds: (performance.now() - began) / 1_000 };
process.stdout.write(JSON.stringify(played));
