import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missing } from '../../e2e/components.ts';

for (const name of ['docker-compose.yml', 'docker-compose.lossless.yml'])
  test(`visitors are redirected to the port that ${name} publishes`, { skip: missing('docker-compose') }, () => {
    const file = fileURLToPath(new URL(name, import.meta.url));
    for (const [port, expected] of [
      ['8443', '8443'],
      ['', '443'],
    ] as const) {
      const env = { PATH: process.env.PATH, DOCKER_GID: '1', SLUICE_HTTPS_PORT: port };
      const config = execFileSync('docker-compose', ['-f', file, 'config'], { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
      assert.match(config, new RegExp(`SLUICE_PUBLIC_HTTPS_PORT: '?${expected}'?\\n`));
      assert.match(config, new RegExp(`(?:- ${expected}:443|published: '?${expected}'?\\b)`));
    }
  });
