import { createHash } from 'node:crypto';
import { CHALLENGE_SCRIPT_PATH, CHALLENGE_TOKEN_PATH, NAME } from '../../../../shared/name.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { solve } from './solve.ts';

/** The cookie with the solution. */
export const COOKIE_NAME = `${NAME}_clearance`;

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:18vh auto;max-width:32em;padding:0 1em;text-align:center}h1{font-size:1.3em}progress{width:12em}';
/** The text that visitors see. It is in the script, so clients that don't run the script don't receive it. */
const CONTENT = `<main>
<h1>One moment, please</h1>
<div id="working" role="status"><p>This site is under heavy load. Your browser is being checked, which takes a few seconds; then the page appears by itself.</p><p><progress aria-label="Checking your browser"></progress></p></div>
<p id="cookies" role="alert" hidden>This check needs a cookie. Please allow cookies for this site, then reload the page.</p>
<p id="again" role="alert" hidden>The check did not succeed. Your address may have changed meanwhile: please reload the page.</p>
</main>`;
/** A style sheet that it constructs needs no exception in the policy. */
const SCRIPT = `{document.head.insertAdjacentHTML('beforeend','<meta name="viewport" content="width=device-width">');const style=new CSSStyleSheet();style.replaceSync(${JSON.stringify(STYLE)});document.adoptedStyleSheets=[style];document.body.innerHTML=${JSON.stringify(CONTENT)};
(${String(solve)})(${JSON.stringify({ path: CHALLENGE_TOKEN_PATH, cookie: COOKIE_NAME })},{document,location,sessionStorage,fetch:(path)=>fetch(path),setTimeout:(act,ms)=>setTimeout(act,ms)})}`;
const VERSION = createHash('sha256').update(SCRIPT).digest('hex').slice(0, 8);

/** The script of every page. A flood of clients that do not run it does not load it either. */
export const CHALLENGE_SCRIPT: OwnAnswer = {
  status: 200,
  fields: 'Content-Type: text/javascript; charset=utf-8\r\nCache-Control: public, max-age=86400\r\n',
  body: SCRIPT,
  reason: 'the script of under_attack',
};

/** Nothing from other hosts, and nothing inline. */
const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/**
 * The same for all sites and clients, and short: the script requests the variable parts, so a flood of clients that don't run it costs
 * little.
 */
export const CHALLENGE_PAGE: OwnAnswer = {
  status: 503,
  fields: `Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nContent-Security-Policy: ${POLICY}\r\n`,
  body: Buffer.from(`<!doctype html>
<html lang="en"><title>One moment, please</title>
<body><noscript><p>This check needs JavaScript. Please enable it for this site, then reload the page.</p></noscript><script src="${CHALLENGE_SCRIPT_PATH}?${VERSION}"></script>
</html>
`),
  reason: 'under_attack: the browser has to solve a challenge',
  sealed: true,
};
