import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive } from '../../config-file/directive.ts';
import { parseRoute } from '../../route.ts';
import { blockOf, directiveContext, line, word } from '../testing/directive-context.ts';
import { logDirective } from './directive.ts';

const block = (...lines: string[]): Directive => line('log', blockOf(...lines));

/** The result of a directive, and its mistakes without the marks around quoted text. */
function read(directive: Directive) {
  const { context, mistakes } = directiveContext();
  const part: Parameters<typeof logDirective.read>[1] = {};
  logDirective.read(directive, part, context, null);
  return mistakes.length === 0 ? part.log : mistakes.join('; ');
}

test('a site is logged where all are, nowhere, on standard output, or in a file', () => {
  assert.equal(read(line('log')), 'on');
  assert.equal(read(line('log on')), 'on');
  assert.equal(read(line('log off')), 'off');
  assert.equal(read(block('output stdout')), 'stdout');
  assert.equal(read(block('output file /var/log/shop.log', 'format json')), '/var/log/shop.log');
});

test('options of Caddy that this log lacks are rejected with what to write instead', () => {
  assert.match(String(read(line('log shop'))), /logs have no names/);
  assert.match(String(read(block())), /empty block/);
  assert.match(String(read(block('output discard'))), /write log off/);
  assert.match(String(read(block('output net localhost:5000'))), /write output stdout\|file <path>/);
  assert.match(String(read(block('output file /a.log x'))), /write output stdout\|file <path>/);
  assert.match(String(read(block('format console'))), /always JSON/);
  assert.match(String(read(block('level error'))), /every request is logged/);
  assert.match(String(read(block('output stdout', 'output stdout'))), /one output line/);
  const rolled = line('output file /a.log', { open: word('{'), lines: [line('roll_size 1gb')] });
  assert.match(String(read(line('log', { open: word('{'), lines: [rolled] }))), /SIGUSR2/);
  assert.match(String(read(line('log off', { open: word('{'), lines: [] }))), /no block/);
});

test('a file is absolute and named like a log, in the Sluicefile and in a posted route', () => {
  const route = (log: unknown) => parseRoute({ domain: 'a.test', upstream: '127.0.0.1:1', tls: false, log });
  for (const [path, reason] of [
    ['shop.log', 'must be absolute'],
    ['/etc/cron.d/shop', 'must end with .log or .json'],
    ['/var/log/.log', 'must end with .log or .json'],
    [`/${'x'.repeat(5_000)}.log`, 'at most 4096 bytes'],
    ['/var/a\u0007.log', 'control character'],
  ] as const) {
    assert.match(String(read(block(`output file ${path}`))), new RegExp(reason));
    assert.match(JSON.stringify(route(path)), new RegExp(reason));
  }
  for (const [given, kept] of [
    [true, 'on'],
    [false, 'off'],
    ['stdout', 'stdout'],
    ['/var/log/a.json', '/var/log/a.json'],
  ] as const) {
    const parsed = route(given);
    assert.equal('value' in parsed ? parsed.value.log : JSON.stringify(parsed), kept);
  }
});
