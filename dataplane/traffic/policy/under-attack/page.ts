import { createHash } from 'node:crypto';
import { NAME } from '../../../../shared/name.ts';
import { TOKEN_LENGTH } from './clearance.ts';
import { solve } from './solve.ts';

/** The cookie with the solution. */
export const COOKIE_NAME = `${NAME}_clearance`;

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:18vh auto;max-width:32em;padding:0 1em;text-align:center}h1{font-size:1.3em}progress{width:12em}';
/** Reads its settings from the page, so that its hash is always the same. */
const SCRIPT = `(${String(solve)})(Object.assign({},document.documentElement.dataset,{bits:Number(document.documentElement.dataset.bits)}),{document,location,sessionStorage,setTimeout:(act,ms)=>setTimeout(act,ms)})`;

const digestOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** No outside resource, and nothing inline but these two. */
const POLICY = `default-src 'none'; script-src ${digestOf(SCRIPT)}; style-src ${digestOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`;

/** Header fields of the page, as lines. It is about one client at one time. */
export const PAGE_FIELDS = `Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nContent-Security-Policy: ${POLICY}\r\nReferrer-Policy: same-origin\r\n`;

const PLACE = '_'.repeat(TOKEN_LENGTH);

/** A page with a place for the token, made once for each site. */
export function challengePage(bits: number, maxAge: number): (token: string) => Buffer {
  const text = `<!doctype html>
<html lang="en" data-token="${PLACE}" data-bits="${bits}" data-max-age="${maxAge}" data-cookie="${COOKIE_NAME}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>One moment, please</title><style>${STYLE}</style>
<main>
<h1>One moment, please</h1>
<div id="working" role="status"><p>This site is under heavy load. Your browser is being checked, which takes a few seconds; then the page appears by itself.</p><p><progress aria-label="Checking your browser"></progress></p></div>
<p id="cookies" role="alert" hidden>This check needs a cookie. Please allow cookies for this site, then reload the page.</p>
<p id="again" role="alert" hidden>The check did not succeed. Your address may have changed meanwhile: please reload the page.</p>
<noscript><p>This check needs JavaScript. Please enable it for this site, then reload the page.</p></noscript>
</main>
<script>${SCRIPT}</script>
</html>
`;
  const page = Buffer.from(text);
  const at = page.indexOf(PLACE);
  return (token) => {
    const copy = Buffer.from(page);
    copy.write(token, at, 'latin1');
    return copy;
  };
}
