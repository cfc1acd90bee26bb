import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultEngineAddress, formatEngineAddress, parseEngineAddress } from './engine-address.ts';

test('a path, a unix: address and a TCP address are read', () => {
  const read = (text: string) => {
    const parsed = parseEngineAddress(text);
    return parsed.ok ? formatEngineAddress(parsed.value) : parsed.reason;
  };
  assert.equal(read('/a/b.sock'), '/a/b.sock');
  assert.equal(read('unix:/a/b.sock'), '/a/b.sock');
  assert.equal(read('unix:///a/b.sock'), '/a/b.sock');
  assert.equal(read('tcp://proxy:2375'), 'tcp://proxy:2375');
  assert.equal(read('tcp://proxy'), 'tcp://proxy:2375');
  assert.equal(read('tcp://[::1]:80'), 'tcp://[::1]:80');
  assert.match(read('ssh://host'), /not over ssh or TLS/);
  for (const bare of ['proxy:2375', '127.0.0.1:2375', '[::1]:2375']) assert.match(read(bare), /: write tcp:\/\/\S+:2375 for a port$/);
  for (const bad of ['', 'unix:', 'tcp://', 'tcp://a:0', 'tcp://a:99999', 'npipe:////./pipe/x'])
    assert.match(read(bad), /^an engine is/, bad);
});

test('without an address uses DOCKER_HOST, then the first socket that exists, Docker before Podman', () => {
  const found = (env: Record<string, string>, ...paths: string[]) => {
    const parsed = defaultEngineAddress(env, (path) => paths.includes(path));
    return parsed.ok ? formatEngineAddress(parsed.value) : parsed.reason;
  };
  const own = { XDG_RUNTIME_DIR: '/run/user/1' };
  assert.equal(found({ DOCKER_HOST: 'tcp://proxy:1' }), 'tcp://proxy:1');
  assert.match(found({ DOCKER_HOST: 'ssh://a' }), /^DOCKER_HOST "ssh:\/\/a": /);
  assert.equal(found(own), '/var/run/docker.sock');
  assert.equal(found(own, '/run/user/1/podman/podman.sock', '/run/podman/podman.sock'), '/run/user/1/podman/podman.sock');
  assert.equal(found(own, '/run/user/1/docker.sock', '/var/run/docker.sock'), '/var/run/docker.sock');
});
