import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';

type Got = { readonly status: number | undefined; readonly body: string };

async function overHttp1(port: number, path: string): Promise<Got> {
  const sent = request({ port, path, headers: { host: 'files.test' }, agent: false }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let body = '';
  for await (const piece of answer.setEncoding('latin1')) body += piece;
  return { status: answer.statusCode, body };
}

async function overHttp2(port: number, path: string): Promise<Got> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const stream = session.request({ ':authority': 'files.test', ':path': path });
    const [head] = (await once(stream, 'response')) as [Readonly<Record<string, number>>];
    let body = '';
    for await (const piece of stream.setEncoding('latin1')) body += piece;
    return { status: head[':status'], body };
  } finally {
    session.close();
  }
}

describe('files of a Sluicefile', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a Sluicefile serves files over HTTP/1.1 and HTTP/2, and nothing outside of their root', async () => {
    const root = folder.file('www');
    mkdirSync(`${root}/docs`, { recursive: true });
    writeFileSync(folder.file('secret'), 'secret');
    writeFileSync(`${root}/index.html`, 'home');
    writeFileSync(`${root}/large.bin`, 'x'.repeat(5_000_000));
    symlinkSync('../secret', `${root}/out`);
    await pair.serve(`files.test {\n  root ${root}\n  try_files {path} {path}/ /index.html\n  file_server\n}\n`);
    for (const get of [overHttp1, overHttp2]) {
      const port = pair.httpPort;
      assert.deepEqual(await get(port, '/'), { status: 200, body: 'home' });
      assert.deepEqual(await get(port, '/some/view'), { status: 200, body: 'home' });
      assert.equal((await get(port, '/large.bin')).body.length, 5_000_000);
      assert.equal((await get(port, '/out')).status, 403);
      for (const path of ['/../secret', '/%2e%2e/secret', '/..%2fsecret', '/docs/..%5c..%5csecret', '/%252e%252e%252fsecret'])
        assert.ok(!(await get(port, path)).body.includes('secret'), path);
      const floods = await Promise.all(Array.from({ length: 100 }, () => get(port, '/index.html')));
      assert.ok(floods.every(({ body }) => body === 'home'));
    }
  });

  test('handle_errors serves pages from files in a Sluicefile as in a Caddyfile', async () => {
    const root = folder.file('www');
    mkdirSync(`${root}/errors`, { recursive: true });
    writeFileSync(`${root}/index.html`, 'home');
    writeFileSync(`${root}/errors/404.html`, 'no such page');
    writeFileSync(`${root}/errors/5xx.html`, 'we are back in a moment');
    await pair.serve(`files.test {
  root * ${root}
  file_server
  handle /down {
    reverse_proxy 127.0.0.1:1
  }
  handle_errors 404 {
    rewrite * /errors/{err.status_code}.html
    file_server
  }
  handle_errors {
    root * ${root}/errors
    try_files /{http.error.status_code}.html /5xx.html
    file_server
  }
}
`);
    for (const get of [overHttp1, overHttp2]) {
      const port = pair.httpPort;
      assert.deepEqual(await get(port, '/'), { status: 200, body: 'home' });
      assert.deepEqual(await get(port, '/none'), { status: 404, body: 'no such page' });
      assert.deepEqual(await get(port, '/down'), { status: 502, body: 'we are back in a moment' });
      assert.deepEqual(await get(port, '/%zz'), { status: 400, body: 'we are back in a moment' });
    }
    writeFileSync(`${root}/errors/404.html`, 'another page');
    assert.deepEqual(await overHttp1(pair.httpPort, '/none'), { status: 404, body: 'another page' });
  });
});
