// An OpenID provider on oidc-provider: node server.mjs
//
// Reads its settings as one line of JSON from standard input, listens on
// 127.0.0.1, prints "listening PORT" on standard error, and ends with standard
// input. The issuer is http://127.0.0.1:PORT.
//
// Settings: clients (as registered), authMethods (of the token endpoint),
// documents (client ID metadata documents by URL, which are served from here
// instead of fetched), accessTTL (seconds) and people (claims by login, which the
// userinfo endpoint gives out; anybody may log in with any password).
//
// GET /test/log tells what the token endpoint did and which secrets it gave out;
// POST /test/ttl?access=SECONDS changes how long new access tokens live.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { errors, Provider } from 'oidc-provider';

const input = createInterface({ input: process.stdin });
const settings = JSON.parse((await input[Symbol.asyncIterator]().next()).value);
process.stdin.on('end', () => process.exit());
process.stdin.resume();

let ttl = settings.accessTTL ?? 3600;
const log = [];

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const configuration = {
  clients: settings.clients ?? [],
  clientAuthMethods: settings.authMethods ?? ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
  scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write', ...(settings.people ? ['profile', 'groups'] : [])],
  ...(settings.people && { claims: { openid: ['sub'], profile: ['name', 'preferred_username'], groups: ['groups'] } }),
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'rs256', alg: 'RS256', use: 'sig' }] },
  cookies: { keys: [randomBytes(16).toString('hex')] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  async findAccount(_ctx, sub) {
    return { accountId: sub, claims: async () => ({ sub, ...settings.people?.[sub] }) };
  },
  async fetch(url) {
    const document = settings.documents?.[url];
    return document ? Response.json(document) : new Response(null, { status: 404 });
  },
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    revocation: { enabled: true },
    userinfo: { enabled: Boolean(settings.people) },
    resourceIndicators: {
      enabled: true,
      // An MCP server on this machine is known, and no other.
      async getResourceServerInfo(_ctx, resource) {
        if (new URL(resource).hostname !== '127.0.0.1') throw new errors.InvalidTarget('this resource is unknown here');
        return { scope: 'mcp:read mcp:write', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: ttl, jwt: { sign: { alg: 'RS256' } } };
      },
    },
  },
};

// Until the port is known there is no issuer.
let answer = (_request, response) => response.writeHead(503).end();
const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://127.0.0.1');
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /test/log':
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(log));
      break;
    case 'POST /test/ttl':
      ttl = Number(url.searchParams.get('access'));
      response.writeHead(204).end();
      break;
    default:
      answer(request, response);
  }
});

// How the client proved itself; the provider takes a secret either way.
function proof(ctx, params) {
  if (ctx.headers.authorization) return 'client_secret_basic';
  if (params?.client_assertion) return 'private_key_jwt';
  return params?.client_secret ? 'client_secret_post' : 'none';
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const provider = new Provider(`http://127.0.0.1:${port}`, configuration);
  provider.use(async (ctx, next) => {
    await next();
    if (ctx.oidc?.route !== 'token') return;
    const { params, client } = ctx.oidc;
    const body = ctx.body ?? {};
    log.push({
      grant: params?.grant_type,
      client: client?.clientId,
      method: proof(ctx, params),
      resource: params?.resource,
      scope: params?.scope,
      status: ctx.status,
      error: body.error,
      secrets: [body.access_token, body.refresh_token, body.id_token, params?.code, params?.code_verifier, params?.client_assertion].filter(Boolean),
    });
  });
  provider.on('grant.revoked', () => log.push({ grant: 'revoked' }));
  provider.on('server_error', (_ctx, error) => console.error(error));
  answer = provider.callback();
  console.error(`listening ${port}`);
});
