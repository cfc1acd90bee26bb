import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT, type Fault } from './fault.ts';
import { hashName } from './field-names.ts';
import { type FieldSection, Fields, MAX_ANSWER_FIELDS, MAX_REQUEST_FIELDS } from './fields.ts';
import { faultOfPartialFields } from './partial-fields.ts';
import { RepeatedValue } from './repeated-value.ts';

type Scan = { readonly fields: Fields; readonly fault: Fault | null };

/** Scans lines in the middle of a longer message. */
function scan(lines: string, section: FieldSection = 'request', overrides: ReadonlyMap<number, string> | null = null): Scan {
  const fields = new Fields(section === 'request' ? MAX_REQUEST_FIELDS : MAX_ANSWER_FIELDS);
  const buffer = Buffer.from(`before${lines}\r\nafter`, 'latin1');
  const raw = buffer.toString('latin1', 2);
  return { fields, fault: fields.scan(buffer, raw, 2, 6, 6 + lines.length, section, overrides) };
}

const REFUSED: readonly [lines: string, fault: Fault][] = [
  ['Content-Length: 1\r\ncontent-length: 2\r\n', FAULT.badLength],
  ['Content-Length: +1\r\n', FAULT.badLength],
  ['Content-Length: -1\r\n', FAULT.badLength],
  ['Content-Length: 0x1\r\n', FAULT.badLength],
  ['Content-Length: 1 1\r\n', FAULT.badLength],
  ['Content-Length: 1.0\r\n', FAULT.badLength],
  ['Content-Length:\r\n', FAULT.badLength],
  ['Content-Length: \xb2\r\n', FAULT.badLength],
  ['Content-Length: 00000000000000001\r\n', FAULT.badLength],
  ['Content-Length: 9007199254740992\r\n', FAULT.badLength],
  ['Content-Length: 18446744073709551617\r\n', FAULT.badLength],
  ['Content-Length: 1\r\nTransfer-Encoding: chunked\r\n', FAULT.lengthAndCoding],
  ['Transfer-Encoding: chunked\r\nContent-Length: 0\r\n', FAULT.lengthAndCoding],
  ['Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', FAULT.badCoding],
  ['Transfer-Encoding: chunked, chunked\r\n', FAULT.badCoding],
  ['Transfer-Encoding: gzip, chunked\r\n', FAULT.badCoding],
  ['Transfer-Encoding: chunked, gzip\r\n', FAULT.badCoding],
  ['Transfer-Encoding: gzip\r\n', FAULT.badCoding],
  ['Transfer-Encoding: identity\r\n', FAULT.badCoding],
  ['Transfer-Encoding: xchunked\r\n', FAULT.badCoding],
  ['Transfer-Encoding: "chunked"\r\n', FAULT.badCoding],
  ['Transfer-Encoding: chunked;a=b\r\n', FAULT.badCoding],
  ['Transfer-Encoding: chunked,\r\n', FAULT.badCoding],
  ['Transfer-Encoding: chunked\xa0\r\n', FAULT.badCoding],
  ['Transfer-Encoding:\r\n', FAULT.badCoding],
  ['Host: a\r\nHost: a\r\n', FAULT.badHost],
  ['Host: a\r\nhOST: b\r\n', FAULT.badHost],
  ['A: b\n', FAULT.bareLineEnd],
  ['A: b\rC: d\r\n', FAULT.bareLineEnd],
  ['A: b\r\r\n', FAULT.bareLineEnd],
  ['A\r\n', FAULT.bareLineEnd],
  ['A: b\r\n c\r\n', FAULT.foldedLine],
  ['A: b\r\n\tc: d\r\n', FAULT.foldedLine],
  [' A: b\r\n', FAULT.foldedLine],
  ['A : b\r\n', FAULT.badFieldName],
  ['A\t: b\r\n', FAULT.badFieldName],
  [': b\r\n', FAULT.badFieldName],
  ['A(b): c\r\n', FAULT.badFieldName],
  ['\xe9: c\r\n', FAULT.badFieldName],
  ['A\0: c\r\n', FAULT.badFieldName],
  ['A: \0\r\n', FAULT.badFieldValue],
  ['A: b\x0bc\r\n', FAULT.badFieldValue],
  ['A: b\x1b\r\n', FAULT.badFieldValue],
  ['A: b\x7f\r\n', FAULT.badFieldValue],
];

for (const [lines, fault] of REFUSED) {
  test(`${JSON.stringify(lines)} is refused: ${fault.reason}`, () => {
    assert.equal(scan(lines).fault, fault);
    assert.equal(scan(lines, 'response').fault, fault);
    assert.equal(scan(`X: y\r\n${lines}Z: z\r\n`).fault, fault);
  });
}

/** Refused in a request, and read in a response. */
const LIBERTIES: readonly [lines: string, fault: Fault, read: Partial<Fields>][] = [
  ['Content-Length: 1\r\nContent-Length: 1\r\n', FAULT.badLength, { contentLength: 1 }],
  ['Content-Length: 1, 1\r\n', FAULT.badLength, { contentLength: 1 }],
  ['Content-Length: 1,1 ,\t1\r\nContent-Length: 1\r\n', FAULT.badLength, { contentLength: 1 }],
  ['Connection: a b\r\n', FAULT.badConnection, { connectionClose: false }],
  ['Connection: close\xa0, upgrade\r\n', FAULT.badConnection, { connectionClose: false, connectionUpgrade: true }],
  ['Connection: "close", close\r\n', FAULT.badConnection, { connectionClose: true }],
];

for (const [lines, fault, read] of LIBERTIES)
  test(`${JSON.stringify(lines)} is refused in a request and read in a response`, () => {
    assert.equal(scan(lines).fault, fault);
    const { fields, fault: none } = scan(lines, 'response');
    assert.equal(none, null);
    assert.deepEqual(Object.fromEntries(Object.keys(read).map((key) => [key, fields[key as keyof Fields]])), read);
  });

for (const value of ['1, 2', '1,', ',1', '1, +1', '1 1', '1;1', '1, 1, 01x'])
  test(`the length ${JSON.stringify(value)} is refused, also in a response`, () => {
    assert.equal(scan(`Content-Length: ${value}\r\n`, 'response').fault, FAULT.badLength);
  });

const ACCEPTED: readonly [lines: string, read: Partial<Fields>][] = [
  ['', { kept: '', count: 0, host: null, contentLength: -1, chunked: false }],
  ['Host:\r\n', { host: '', kept: 'Host: \r\n' }],
  ['Host: \t a.example:80 \t\r\n', { host: 'a.example:80' }],
  ['content-length: 0000000000000007\r\n', { contentLength: 7, kept: '' }],
  ['Content-Length:9007199254740991 \r\n', { contentLength: 9_007_199_254_740_991 }],
  ['Transfer-Encoding:\tCHUNKED \t\r\n', { chunked: true, kept: '' }],
  ['Connection: keep-alive\r\n', { connectionKeepAlive: true, connectionClose: false }],
  [
    'Connection: Close\r\nConnection: ,, Upgrade\t,\r\nUpgrade: a\r\nUpgrade: b\r\n',
    { connectionClose: true, connectionUpgrade: true, upgrade: 'a, b' },
  ],
  ['Expect: 100-Continue\r\n', { expectsContinue: true, kept: 'Expect: 100-Continue\r\n' }],
  ['A: b \r\nC:\td\xe9\r\nD: e\r\n', { count: 3, kept: 'A: b\r\nC: d\xe9\r\nD: e\r\n' }],
  ['X:POST / HTTP/1.1\r\nA: b\r\nY:\r\n', { kept: 'X: POST / HTTP/1.1\r\nA: b\r\nY: \r\n' }],
  ['!#$%&\'*+-.^_`|~09az: ()<>@,;:\\"/[]?={}\r\n', { count: 1 }],
  ['Keep-Alive: max=9, timeout=15\r\n', { keepAliveTimeout: 15, kept: '' }],
];

for (const [lines, read] of ACCEPTED) {
  test(`${JSON.stringify(lines)} is read as ${JSON.stringify(read)}`, () => {
    const { fields, fault } = scan(lines);
    assert.equal(fault, null);
    assert.deepEqual(Object.fromEntries(Object.keys(read).map((key) => [key, fields[key as keyof Fields]])), read);
  });
}

for (const lines of [
  'Expect:',
  'Expect: y 100-continue',
  'Expect: 100-continue, 100-continue',
  'Expect: 100-continue;q=1',
  'Expect: 200-ok',
])
  test(`${lines} is not a known expectation (RFC 9110 10.1.1)`, () => {
    assert.equal(scan(`${lines}\r\n`).fault, FAULT.badExpectation);
    assert.equal(scan(`${lines}\r\n`, 'response').fault, null);
  });

test('a repeated Expect is refused', () => {
  assert.equal(scan('Expect: 100-continue\r\nExpect: 100-continue\r\n').fault, FAULT.badExpectation);
});

test('a value with white space at its edge that some servers strip is refused in a request and read in a response', () => {
  for (const value of ['\x85admin', 'admin\xa0', '\xe3\x80\x80admin']) {
    assert.equal(scan(`A: b\r\nUser: ${value}\r\n`).fault, FAULT.blankEdge);
    assert.equal(scan(`User: ${value}\r\n`, 'response').fields.kept, `User: ${value}\r\n`);
  }
  const name = 'Content-Disposition: inline; filename=voil\xc3\xa0\r\n';
  assert.deepEqual([scan(name).fault, scan(name).fields.kept], [null, name]);
});

test('accepts as many fields as the limit allows, and refuses one more', () => {
  for (const [section, max] of [
    ['request', MAX_REQUEST_FIELDS],
    ['response', MAX_ANSWER_FIELDS],
  ] as const) {
    assert.equal(scan('A: b\r\n'.repeat(max), section).fault, null);
    assert.equal(scan('A: b\r\n'.repeat(max + 1), section).fault, FAULT.manyFields);
  }
});

test('a reused value keeps nothing of the previous section', () => {
  const { fields } = scan('Host: a\r\nContent-Length: 3\r\nConnection: close, x\r\nExpect: 100-continue\r\nDate: d\r\nUpgrade: u\r\n');
  const lines = Buffer.from('X: y\r\n');
  assert.equal(fields.scan(lines, lines.toString('latin1'), 0, 0, lines.length, 'request', null), null);
  const fresh = new Fields(MAX_REQUEST_FIELDS);
  assert.equal(fresh.scan(lines, lines.toString('latin1'), 0, 0, lines.length, 'request', null), null);
  const said = (section: Fields) => Object.entries(section).filter(([, value]) => !(value instanceof RepeatedValue));
  assert.deepEqual(said(fields), said(fresh));
});

test('hop-by-hop fields are not forwarded in either direction', () => {
  const hops =
    'Connection: x\r\nKeep-Alive: a\r\nProxy-Connection: a\r\nTE: trailers\r\nUpgrade: a\r\nProxy-Authenticate: a\r\nHTTP2-Settings: a\r\n';
  for (const section of ['request', 'response'] as const)
    assert.equal(scan(`A: 1\r\n${hops}B: 2\r\n`, section).fields.kept, 'A: 1\r\nB: 2\r\n');
});

test('fields that only a proxy may set are dropped from requests and forwarded in responses', () => {
  const claims =
    'X-Forwarded-For: a\r\nX-Forwarded-Proto: a\r\nX-Forwarded-Port: a\r\nForwarded: a\r\nX-Real-IP: a\r\nX-Request-ID: a\r\nProxy: a\r\n';
  assert.equal(scan(`A: 1\r\n${claims}`).fields.kept, 'A: 1\r\n');
  assert.equal(scan(claims, 'response').fields.kept, claims);
});

test('spellings of framing and proxy fields that servers fold are dropped from requests of any sender', () => {
  const spellings =
    'X_Forwarded_For: a\r\nContent_Length: 3\r\nTransfer_Encoding: chunked\r\nX-Real_IP: a\r\nX.Forwarded.For: a\r\nX~Real~IP: a\r\n' +
    "Transfer.Encoding: chunked\r\nContent~Length: 3\r\nX!Original#URL: a\r\nX'Forwarded`Prefix: a\r\nClient|Cert: a\r\n";
  const { fields } = scan(`User_Agent: a\r\n${spellings}X.Y: b\r\n`);
  assert.deepEqual([fields.kept, fields.vouched], ['User_Agent: a\r\nX.Y: b\r\n', '']);
  assert.equal(fields.contentLength, -1);
  assert.equal(fields.chunked, false);
  assert.equal(scan(spellings, 'response').fields.kept, spellings);
});

test('fields that a proxy sets about its client are kept apart from those a client may set', () => {
  const { fields } = scan('A: 1\r\nX-Forwarded-Prefix:\t/app \r\nCLIENT-CERT: :abc:\r\nX-Original-URL: /admin\r\nB: 2\r\n');
  assert.equal(fields.kept, 'A: 1\r\nB: 2\r\n');
  assert.equal(fields.vouched, 'X-Forwarded-Prefix: /app\r\nCLIENT-CERT: :abc:\r\n');
});

test('a field that Connection nominates is dropped before or after it, in any letter case', () => {
  const { fields } = scan('X-A: 1\r\nB: 2\r\nConnection: x-a\r\nx-A: 3\r\nConnection: C, close\r\nC: 4\r\n');
  assert.equal(fields.kept, 'B: 2\r\n');
  assert.equal(fields.connectionClose, true);
});

test("Connection can't remove the fields that identify the client or name the target", () => {
  const lines = 'Host: a\r\nCookie: b\r\nAuthorization: c\r\n';
  assert.equal(scan(`${lines}Connection: host, cookie, authorization, x-real-ip\r\n`).fields.kept, lines);
});

test('a field that Connection removed is not used either', () => {
  const names = 'Date, X-Frame-Options, X-Content-Type-Options, Strict-Transport-Security, Expect';
  const lines = 'Date: a\r\nX-Frame-Options: a\r\nX-Content-Type-Options: a\r\nStrict-Transport-Security: a\r\nExpect: 100-continue\r\n';
  const { fields } = scan(`${lines}Connection: ${names}\r\n`, 'response');
  assert.equal(fields.kept, '');
  const { hasDate, hasFrameOptions, hasContentTypeOptions, hasStrictTransportSecurity, expectsContinue } = fields;
  assert.deepEqual(
    [hasDate, hasFrameOptions, hasContentTypeOptions, hasStrictTransportSecurity, expectsContinue],
    [false, false, false, false, false],
  );
});

test('a field that the route sets itself is not forwarded, and another field with the same hash is', () => {
  const overrides = new Map([[hashName('x-request-id'), 'x-request-id']]);
  assert.equal(scan('X-Request-Id: a\r\nvkrequest-id: b\r\nC: d\r\n', 'response', overrides).fields.kept, 'vkrequest-id: b\r\nC: d\r\n');
});

test('no prefix of valid lines is refused', () => {
  for (const [lines] of ACCEPTED) {
    const whole = Buffer.from(`${lines}\r\n`, 'latin1');
    for (let to = 0; to <= whole.length; to++) assert.equal(faultOfPartialFields(whole, 0, to), null, `${to} of ${JSON.stringify(lines)}`);
  }
});

test('bytes that no continuation can make valid are refused at once', () => {
  for (const [lines, fault] of [
    ['A: b\r\n ', FAULT.foldedLine],
    ['A ', FAULT.badFieldName],
    [':', FAULT.badFieldName],
    ['A\r', FAULT.bareLineEnd],
    ['A: b\n', FAULT.bareLineEnd],
    ['A: b\rc', FAULT.bareLineEnd],
    ['\rc', FAULT.bareLineEnd],
    ['A: \0', FAULT.badFieldValue],
  ] as const) {
    const bytes = Buffer.from(lines);
    assert.equal(faultOfPartialFields(bytes, 0, bytes.length), fault, JSON.stringify(lines));
    assert.equal(faultOfPartialFields(bytes, 0, bytes.length - 1), null, JSON.stringify(lines));
  }
});

test('the facts that distinguish people from machines are recorded from a request', () => {
  const { fields } = scan('User-Agent: Mozilla/5.0\r\nsec-fetch-dest: document\r\nSec-GPC: 1\r\nSec-Purpose: prefetch;prerender\r\n');
  assert.deepEqual(
    [fields.userAgent, fields.fetchDestination, fields.privacyControl, fields.prefetch],
    ['Mozilla/5.0', 'document', true, true],
  );
  assert.ok(fields.kept.startsWith('User-Agent: Mozilla/5.0\r\n'));
  fields.scan(Buffer.from('A: b\r\n\r\n'), 'A: b\r\n\r\n', 0, 0, 6, 'request', null);
  assert.deepEqual([fields.userAgent, fields.fetchDestination, fields.privacyControl, fields.prefetch], [null, null, false, false]);
  assert.equal(scan('Sec-GPC: 0\r\n').fields.privacyControl, false);
});

test('every spelling of a request ahead of need is noted', () => {
  for (const line of ['Sec-Purpose: prefetch', 'Purpose: prefetch', 'X-Purpose: preview', 'X-Moz: prefetch', 'Purpose: Prerender'])
    assert.equal(scan(`${line}\r\nX-Other: a\r\n`).fields.prefetch, true, line);
  for (const line of ['Sec-Purpose: other', 'X-Purpose: 1', 'X-Mozilla: prefetch'])
    assert.equal(scan(`${line}\r\n`).fields.prefetch, false, line);
});

test('the type of a response is noted', () => {
  assert.equal(scan('Content-Type: text/html; charset=utf-8\r\n', 'response').fields.contentType, 'text/html; charset=utf-8');
  assert.equal(scan('Content-Length: 1\r\n', 'response').fields.contentType, null);
});

test('lines that were just read mean the same again, unless what they depend on has changed', () => {
  const sections: readonly FieldSection[] = ['request', 'response', 'trailers'];
  const texts = [
    '',
    'Host: a.test\r\nUser-Agent: b\r\n',
    'Host: a.test\r\nUser-Agent: c\r\n',
    'Host: a.test\r\nConnection: x-own\r\nX-Own: 1\r\nX-Other:  padded \r\n',
    'X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Prefix: /a\r\nX_Forwarded_For: 1\r\n',
    'Content-Length: 3\r\nContent-Length: 3\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 3\r\n',
    'A: 1\nB: 2\r\n',
    'A: 1\r\nB: 2\r\nC: 3\r\n',
    'Server: a\r\nDate: b\r\n',
  ];
  const overrides = new Map([[hashName('Server'), 'server']]);
  const used = new Fields(0);
  for (let turn = 0; turn < 20_000; turn++) {
    // Each second turn repeats the lines of the one before, half of them with all else as it was.
    const pair = turn >> 1;
    const text = texts[pair % texts.length] as string;
    const pick = Math.imul((turn & 2) === 0 ? pair : turn + 1_000_000, 2_654_435_761) >>> 20;
    const section = sections[(pick >> 2) % 3] as FieldSection;
    const set = (pick & 1) === 0 ? overrides : null;
    const fresh = new Fields((pick & 6) === 0 ? 2 : 10);
    fresh.bareLineFeeds = (pick & 24) === 0;
    Object.assign(used, { maxFields: fresh.maxFields, bareLineFeeds: fresh.bareLineFeeds });
    const buffer = Buffer.from(`${text}\r\n`);
    const read = (fields: Fields) => fields.scan(buffer, buffer.toString('latin1'), 0, 0, text.length, section, set);
    const fault = read(fresh);
    assert.equal(read(used), fault, text);
    if (fault === null) assert.deepEqual(noted(used), noted(fresh), text);
  }
});

/** Everything that is read from fields. */
function noted(fields: Fields): object {
  const { kept, vouched, count, host, contentLength, chunked, connectionClose, forwardedFor, userAgent, hasDate } = fields;
  return { kept, vouched, count, host, contentLength, chunked, connectionClose, forwardedFor, userAgent, hasDate };
}
