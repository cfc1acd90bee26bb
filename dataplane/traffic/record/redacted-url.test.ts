import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesSecret, redactedUrl } from './redacted-url.ts';

test('the values of secret parameters are replaced in queries and fragments', () => {
  for (const [url, redacted] of [
    ['/', '/'],
    ['/?a=1&b=2', '/?a=1&b=2'],
    ['/?token=x', '/?token=REDACTED'],
    ['/?a=1&access_token=x&b=2', '/?a=1&access_token=REDACTED&b=2'],
    ['/?api_key=x;pwd=y', '/?api_key=REDACTED;pwd=REDACTED'],
    ['/?TOKEN=x==&a=1', '/?TOKEN=REDACTED&a=1'],
    ['/?%74oken=x', '/?%74oken=REDACTED'],
    ['/?token=&a=1', '/?token=&a=1'],
    ['/?token', '/?token'],
    ['/?a=token=x', '/?a=token=REDACTED'],
    ['/?a=1&a=2&password=p?q&b=3', '/?a=1&a=2&password=REDACTED?q&b=3'],
    ['/cb#id_token=x&state=1', '/cb#id_token=REDACTED&state=1'],
    ['/?next=https%3A%2F%2Fa.test%2F%3Ftoken%3Dx%26a%3D1&b=2', '/?next=https%3A%2F%2Fa.test%2F%3Ftoken%3DREDACTED%26a%3D1&b=2'],
    ['/?next=%2F%3Fa%3D1%26Api_Key%3dx%2Fy%23id_token%3dz', '/?next=%2F%3Fa%3D1%26Api_Key%3dREDACTED%23id_token%3dREDACTED'],
    ['/?next=%252F%253Fcode%253Dx%2526a%253D1', '/?next=%252F%253Fcode%253DREDACTED%2526a%253D1'],
    ['/?next=%2F%3Fpassword%3Dab%2526cd', '/?next=%2F%3Fpassword%3DREDACTED'],
    ['/?next=%2F%3Fpassword%3Dab%253Bcd%2523ef%26a%3D1', '/?next=%2F%3Fpassword%3DREDACTED%26a%3D1'],
    ['/?next=%252F%253Fpassword%253Dab%25252526c%26a', '/?next=%252F%253Fpassword%253DREDACTED%26a'],
    ['/?next=%2F%3Fto%3D%252F%253Fa%253D1%2526token%253Dx%26b', '/?next=%2F%3Fto%3D%252F%253Fa%253D1%2526token%253DREDACTED%26b'],
    ['/?next=%2F%3Fto%3D%252F%253Ftoken%253Dx%26b', '/?next=%2F%3Fto%3D%252F%253Ftoken%253DREDACTED%26b'],
    ['/?next=%2F%3Ftoken%3D%26b', '/?next=%2F%3Ftoken%3D%26b'],
    ['/?next=%2F%3Fa%3Dtokenx&q=50%25%3D', '/?next=%2F%3Fa%3Dtokenx&q=50%25%3D'],
    ['/?next=%2F%3Fuser%5Bpassword%5D%3Dx%26a%3D1', '/?next=%2F%3Fuser%5Bpassword%5D%3DREDACTED%26a%3D1'],
    ['/?to=https%3A%2F%2Fann%3Apw%40host%2F%3Fa%3D1', '/?to=https%3A%2F%2FREDACTED%40host%2F%3Fa%3D1'],
    ['/?to=https%3A%2F%2Fann%2540b%3Apw%40host', '/?to=https%3A%2F%2FREDACTED%40host'],
    ['/?to=https%3A%2F%2Fann%40b%3Ap%252Fw%40host', '/?to=https%3A%2F%2FREDACTED%40host'],
    [`/?to=https%3A%2F%2F${'x'.repeat(1_000)}%40host`, '/?to=https%3A%2F%2FREDACTED%40host'],
    ['https://ann@b:pw@host/', 'https://REDACTED@host/'],
    ['/?to=https%3A%2F%2Fhost%2Fann%40b', '/?to=https%3A%2F%2Fhost%2Fann%40b'],
    ['https://ann:pw@host/?code=1', 'https://REDACTED@host/?code=REDACTED'],
    ['//ann@host/', '//REDACTED@host/'],
    ['/@ann/?mail=a@b.c', '/@ann/?mail=a@b.c'],
    ['/?X-Amz-Signature=a&X-Amz-Credential=b&X-Amz-Date=c', '/?X-Amz-Signature=REDACTED&X-Amz-Credential=REDACTED&X-Amz-Date=c'],
  ] as const)
    assert.equal(redactedUrl(url), redacted);
});

test('a long query is read in one pass', () => {
  const query = `/?${'a=1&'.repeat(100_000)}token=x`;
  assert.ok(redactedUrl(query).endsWith('&token=REDACTED'));
  assert.equal(redactedUrl(`/?${'='.repeat(200_000)}`).length, 200_002);
  for (const piece of ['%3f', '%3fa', '%25', '%3ftoken%3d', '%26a%3d', '%3ftoken%3da%2526', '%2526', '%25252525', `%3f${'a'.repeat(64)}`])
    assert.ok(redactedUrl(`/?${piece.repeat(200_000)}`).length > 200_000 || piece.includes('token'), piece);
});

test('names of credentials are secret, and those of the usual fields are not', () => {
  const secret = [
    'Authorization',
    'Proxy-Authorization',
    'Cookie',
    'Set-Cookie',
    'X-Api-Key',
    'X-CSRF-Token',
    'X-Vault-Token',
    'Private-Token',
  ];
  for (const name of [...secret, 'X-Amz-Security-Token', 'X-Hub-Signature-256', 'Signature']) assert.ok(namesSecret(name), name);
  for (const name of ['Host', 'User-Agent', 'Accept', 'Author', 'ETag', 'Sec-WebSocket-Key', 'Idempotency-Key', 'Content-Type', 'Referer'])
    assert.ok(!namesSecret(name), name);
});
