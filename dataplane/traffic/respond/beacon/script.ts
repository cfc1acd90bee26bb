import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { zlib } from '../../../../shared/runtime/node-on-demand.ts';

/**
 * Runs in the browser within one function, so that it leaves no global names. It posts the measurements once, when the page is hidden. If a
 * page is left within a second of a click, its INP is only known if each change is reported. web-vitals takes its last measurements in the
 * capturing phase of `visibilitychange`, hence the listener in the bubbling phase. A report of JSON is sent in the mode `cors`, in which
 * the page's Referrer-Policy can't turn its Origin into `null` (Fetch Standard 3.1).
 */
const REPORT = `
const target = new URL('vitals', document.currentScript.src);
const values = {};
let sent = false;
const note = ({ name, value }) => { values[name.toLowerCase()] = value; };
const send = () => {
  if (sent || Object.keys(values).length === 0) return;
  sent = true;
  navigator.sendBeacon(target, new Blob([JSON.stringify(values)], { type: 'application/json' }));
};
for (const on of [webVitals.onLCP, webVitals.onCLS, webVitals.onINP]) on(note, { reportAllChanges: true });
addEventListener('visibilitychange', () => { if (document.visibilityState === 'hidden') send(); });
addEventListener('pagehide', send);
`;

/** The script in the content codings that browsers accept, best first, each with its Content-Encoding; and its entity tag. */
export type VitalsScript = {
  readonly tag: string;
  readonly codings: readonly { readonly name: string; readonly bytes: Buffer }[];
  readonly plain: Buffer;
};

let made: VitalsScript | undefined;

/** Google's web-vitals and the lines that report its measurements. Built when the first site needs it, which takes 20 ms. */
export function vitalsScript(): VitalsScript {
  made ??= make();
  return made;
}

function make(): VitalsScript {
  const { brotliCompressSync, constants, gzipSync } = zlib();
  const library = join(dirname(createRequire(import.meta.url).resolve('web-vitals')), 'web-vitals.iife.js');
  const text = readFileSync(library, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\n?$/, '');
  const plain = Buffer.from(`(()=>{${text}${REPORT}})();\n`);
  return {
    tag: createHash('sha256').update(plain).digest('base64url').slice(0, 22),
    codings: [
      { name: 'br', bytes: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }) },
      { name: 'gzip', bytes: gzipSync(plain, { level: 9 }) },
    ],
    plain,
  };
}
