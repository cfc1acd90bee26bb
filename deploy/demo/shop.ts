import { createServer } from 'node:http';

/** A site of a few HTML pages for the visitors of the demo: `shop.ts PORT`. */
const [port = '9103'] = process.argv.slice(2);

const PAGES: Readonly<Record<string, readonly [title: string, text: string]>> = {
  '/': ['The Teapot Shop', 'Teapots and cups. Click around: your own visit is in the dashboard, too.'],
  '/teapots': ['Teapots', 'Cast iron keeps the heat, glass shows the tea.'],
  '/teapots/cast-iron': ['Cast iron', 'Heavy, dark, and hot for an hour.'],
  '/teapots/glass': ['Glass', 'Look at the leaves.'],
  '/cups': ['Cups', 'Without handles.'],
  '/journal/how-to-brew': ['How to brew', 'Less tea, cooler water, more time.'],
  '/about': ['About', 'This shop sells nothing. It is part of the demo.'],
  '/basket': ['Basket', 'Empty, like every basket of a demo.'],
};
const LINKS = Object.entries(PAGES).map(([path, [title]]) => `<a href="${path}">${title}</a>`);
const BROKEN = ['<a href="/teapots/sold-out">Sold out</a> (404)', '<a href="/basket/receipt">Receipt</a> (500)'];
const STYLE =
  'body{font:1rem/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem}\n';

const page = (title: string, text: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<h1>${title}</h1>
<p>${text}</p>
<nav>${[...LINKS, ...BROKEN].join(' ')}</nav>
</body>
</html>
`;

function answerTo(path: string): { status: number; type: string; text: string } {
  const type = 'text/html; charset=utf-8';
  if (path === '/style.css') return { status: 200, type: 'text/css; charset=utf-8', text: STYLE };
  const found = Object.hasOwn(PAGES, path) ? PAGES[path] : undefined;
  if (found !== undefined) return { status: 200, type, text: page(...found) };
  if (path === '/basket/receipt')
    return { status: 500, type, text: page('Out of paper', 'Every receipt fails, so that there is an error to look at.') };
  return { status: 404, type, text: page('Not found', 'There is no such page.') };
}

const server = createServer((request, response) => {
  const { status, type, text } = answerTo((request.url ?? '/').split('?', 1)[0] ?? '/');
  response.writeHead(status, { 'content-type': type }).end(text);
});
server.listen(Number(port), '127.0.0.1');

const stop = () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
};
process.on('SIGTERM', stop);
// The demo holds the other end of stdin. When it closes, this process is no longer needed.
process.stdin.once('end', stop).once('error', stop).resume();
