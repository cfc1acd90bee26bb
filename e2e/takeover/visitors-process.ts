import { setTimeout as wait } from 'node:timers/promises';
import { Visitor } from './visitor.ts';

const REPORT_MS = 100;
/** Every this many requests a visitor requests a slow page, so that some requests are always in flight. */
const SLOW_EVERY = 16;

const [port = '', host = '', count = '', pause = ''] = process.argv.slice(2);
const answered = { onNew: 0, onKept: 0 };
const lost: Record<string, number> = {};
let stopping = false;

async function visit(index: number): Promise<void> {
  const keeps = index % 2 === 1;
  const visitor = new Visitor(Number(port), `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`, keeps);
  for (let asked = index; !stopping; asked++) {
    const outcome = await visitor.ask(host, asked % SLOW_EVERY === 0 ? '/slow' : '/');
    if (outcome === '') answered[keeps ? 'onKept' : 'onNew']++;
    else {
      const what = `${keeps ? 'kept' : 'new'}: ${outcome}`;
      lost[what] = (lost[what] ?? 0) + 1;
    }
    await wait(Number(pause));
  }
  visitor.leave();
}

const tell = (): void => void process.send?.({ answered, lost });
process.on('message', () => {
  stopping = true;
});
process.on('disconnect', () => process.exit(1));
const telling = setInterval(tell, REPORT_MS);
await Promise.all(Array.from({ length: Number(count) }, (_, index) => visit(index)));
clearInterval(telling);
process.send?.({ answered, lost }, () => process.exit(0));
