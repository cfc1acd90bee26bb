import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));

/** Of what `npm test` has built; of the sources if a test file is run alone. */
export const LAUNCHER = join(process.env.TESTED_BUILD ?? REPOSITORY, 'sluice');

export type Outcome = { code: number; out: string; err: string };

type Options = { env?: Record<string, string>; cwd?: string; launcher?: string; input?: string };

/** Runs the launcher until it exits, in its own environment. */
export function sluice(argv: string[], options: Options = {}): Promise<Outcome> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }), ...options.env };
  return new Promise((resolve) => {
    const child = execFile(options.launcher ?? LAUNCHER, argv, { env, cwd: options.cwd ?? tmpdir() }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
    });
    child.stdin?.end(options.input ?? '');
  });
}

/** A directory that is removed after the test. */
export function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** An Admin API with a response for each `METHOD PATH`; text is sent unchanged. @returns its address. */
export async function admin(t: TestContext, answers: Record<string, [number, unknown]>): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = answers[`${request.method} ${request.url}`] ?? [404, { error: 'not found' }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(typeof body === 'string' ? body : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
