import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive } from '../../config-file/directive.ts';
import { accepted, refused } from '../../values/parsed.ts';
import { maintenanceDirective } from '../maintenance/directive.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { handleErrorsDirective } from './directive.ts';

function reading() {
  return directiveContext({
    textOf: ({ text }) =>
      text === 'large.html' ? accepted('x'.repeat(65_537)) : text.endsWith('.html') ? accepted(`<${text}>`) : refused('no such file'),
  });
}

function errors(...directives: Directive[]) {
  const { mistakes, context } = reading();
  const part: Parameters<typeof handleErrorsDirective.read>[1] = {};
  for (const directive of directives) handleErrorsDirective.read(directive, part, context, null);
  return { pages: part.handle_errors, mistakes };
}

function maintained(directive: Directive) {
  const { mistakes, context } = reading();
  const part: Parameters<typeof maintenanceDirective.read>[1] = {};
  maintenanceDirective.read(directive, part, context, null);
  return { maintenance: part.maintenance, mistakes };
}

test('several handle_errors are read in order, with statuses, a text or a file, headers and intercept', () => {
  const read = errors(
    line('handle_errors 404 5xx', blockOf('respond {err.status_code}', 'header X-A b', 'header X-B c', 'intercept')),
    line('handle_errors', blockOf('page error.html')),
  );
  assert.deepEqual(read, {
    pages: [
      {
        statuses: [404, '5xx'],
        respond: '{err.status_code}',
        headers: [
          { name: 'X-A', value: 'b' },
          { name: 'X-B', value: 'c' },
        ],
        intercept: true,
      },
      { page: '<error.html>' },
    ],
    mistakes: [],
  });
});

for (const [directive, mistake] of [
  [
    line('handle_errors 200', blockOf('respond x')),
    'handle_errors "200": write a status from 400 to 599, such as 404, or a class: 4xx or 5xx',
  ],
  [line('handle_errors', blockOf()), 'handle_errors has no page: write respond <text>, page <file> or file_server'],
  [
    line('handle_errors', blockOf('file_server')),
    'handle_errors does not say which file is the page: write rewrite /{err.status_code}.html',
  ],
  [line('handle_errors', blockOf('rewrite * /e.html')), 'rewrite in handle_errors needs file_server there'],
  [line('handle_errors', blockOf('rewrite @404 /e.html', 'file_server')), 'rewrite "@404": write handle_errors 404 { … } to choose errors'],
  [line('handle_errors', blockOf('rewrite e.html', 'file_server')), 'rewrite "e.html": begin the path with "/"'],
  [
    line('handle_errors', blockOf('rewrite /../e.html', 'file_server')),
    'rewrite "/../e.html": write a path without "..", query and backslashes',
  ],
  [
    line('handle_errors', blockOf('try_files /a.html =404', 'file_server')),
    'try_files "=404": the error keeps its status; write a file such as /404.html',
  ],
  [
    line('handle_errors', blockOf('rewrite /a.html', 'file_server browse')),
    '"browse" is one argument too many for file_server in handle_errors: write file_server',
  ],
  [line('handle_errors', blockOf('root www', 'rewrite /a.html', 'file_server')), /^root "www": write an absolute path/],
  [line('handle_errors', blockOf('rewrite /a.html', 'rewrite /b.html', 'file_server')), 'handle_errors has rewrite twice: keep one'],
  [line('handle_errors', blockOf('respond x', 'templates')), /^handle_errors "templates": not supported/],
  [line('handle_errors', blockOf('respond x', 'page a.html')), 'handle_errors has two pages'],
  [line('handle_errors', blockOf('respond x 200')), '"200" is one argument too many for respond: the error keeps its status; delete it'],
  [line('handle_errors', blockOf('respond 200')), 'respond "200": the error keeps its status; write a text'],
  [line('handle_errors', blockOf('page none.txt')), 'page "none.txt": no such file'],
  [line('handle_errors', blockOf('page large.html')), 'page "large.html": a page has at most 65536 characters'],
  [line('handle_errors', blockOf('respond x', 'file_server')), 'handle_errors has two pages'],
  [line('handle_errors', blockOf('respond x', 'interceptt')), 'handle_errors "interceptt" (did you mean "intercept"?)'],
  [line('handle_errors', blockOf('respond x', 'header X-A')), 'header is missing an argument: write header <Name> <value>'],
  [
    line('handle_errors', blockOf('respond x', 'header X-A {hots}')),
    /^header "X-A": "\{hots\}" is not a placeholder \(did you mean "host"\?\)/,
  ],
  [
    line('handle_errors', blockOf('respond x', 'header Content-Length 1')),
    'header "Content-Length": the proxy itself sets this header; delete the line',
  ],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => {
    const { mistakes } = errors(directive);
    if (typeof mistake === 'string') assert.deepEqual(mistakes, [mistake]);
    else assert.match(mistakes.join(), mistake);
  });

test('pages from files are read as a Caddyfile has them', () => {
  const pages = (...lines: string[]) => {
    const { pages: [page] = [], mistakes } = errors(line('handle_errors', blockOf(...lines)));
    assert.deepEqual(mistakes, []);
    return page?.files;
  };
  assert.deepEqual(pages('rewrite * /{err.status_code}.html', 'file_server'), { paths: ['/{err.status_code}.html'] });
  assert.deepEqual(pages('root * /srv/errors', 'try_files /{http.error.status_code}.html /error.html', 'file_server'), {
    root: '/srv/errors',
    paths: ['/{http.error.status_code}.html', '/error.html'],
  });
  assert.deepEqual(pages('rewrite /$&{err.status_code}', 'try_files {path}.html {path}/index.html', 'file_server'), {
    paths: ['/$&{err.status_code}.html', '/$&{err.status_code}/index.html'],
  });
});

test('maintenance is switched on and off, and keeps its lines', () => {
  assert.deepEqual(maintained(line('maintenance on')), { maintenance: { on: true }, mistakes: [] });
  assert.deepEqual(maintained(line('maintenance off', blockOf('retry_after 10m', 'page closed.html'))), {
    maintenance: { on: false, retry_after_secs: 600, page: '<closed.html>' },
    mistakes: [],
  });
});

for (const [directive, mistake] of [
  [line('maintenance yes'), 'maintenance "yes": write on or off'],
  [line('maintenance on', blockOf('retry_after 10')), 'retry_after "10": a duration is a number with a unit: 500ms, 30s, 5m, 2h, 1d'],
  [line('maintenance on', blockOf('retry_after')), 'retry_after is missing an argument: write retry_after <duration> or page <file>'],
  [line('maintenance on', blockOf('pages a.html')), 'maintenance "pages" (did you mean "page"?)'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => assert.deepEqual(maintained(directive).mistakes, [mistake]));
