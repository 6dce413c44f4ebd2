// Writes github.json: the operations that bot/forge/github uses, out of GitHub's own OpenAPI description, cut down to
// what a request is checked against. Answers are dropped; the tests have a stateful fake for those.
//
//   npm install --no-save --prefix ../openapi @octokit/openapi@23.0.2
//   node subset.mjs ../openapi/node_modules/@octokit/openapi/generated/api.github.com.json
//
// Add an operation here when the package sends a new kind of request: the mock answers 404 to what it does not know.
import { readFileSync, writeFileSync } from 'node:fs';

const wanted = {
  '/user': ['get'],
  '/app': ['get'],
  '/app/installations/{installation_id}/access_tokens': ['post'],
  '/repos/{owner}/{repo}': ['get'],
  '/repos/{owner}/{repo}/installation': ['get'],
  '/repos/{owner}/{repo}/issues': ['get', 'post'],
  '/repos/{owner}/{repo}/issues/{issue_number}': ['get', 'patch'],
  '/repos/{owner}/{repo}/issues/{issue_number}/comments': ['get', 'post'],
  '/repos/{owner}/{repo}/issues/comments/{comment_id}': ['patch'],
  '/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions': ['post'],
  '/repos/{owner}/{repo}/labels': ['get', 'post'],
  '/repos/{owner}/{repo}/pulls': ['get', 'post'],
  '/repos/{owner}/{repo}/pulls/{pull_number}': ['get', 'patch'],
  '/repos/{owner}/{repo}/pulls/{pull_number}/files': ['get'],
  '/repos/{owner}/{repo}/pulls/{pull_number}/reviews': ['get'],
  '/repos/{owner}/{repo}/collaborators/{username}/permission': ['get'],
  '/repos/{owner}/{repo}/branches/{branch}': ['get'],
  '/repos/{owner}/{repo}/branches/{branch}/protection': ['get'],
  '/repos/{owner}/{repo}/rules/branches/{branch}': ['get'],
  '/repos/{owner}/{repo}/check-runs': ['post'],
  '/repos/{owner}/{repo}/check-runs/{check_run_id}': ['patch'],
  '/repos/{owner}/{repo}/commits/{ref}/check-runs': ['get'],
  '/repos/{owner}/{repo}/statuses/{sha}': ['post'],
  '/repos/{owner}/{repo}/git/blobs': ['post'],
  '/repos/{owner}/{repo}/git/commits': ['post'],
  '/repos/{owner}/{repo}/git/commits/{commit_sha}': ['get'],
  '/repos/{owner}/{repo}/git/ref/{ref}': ['get'],
  '/repos/{owner}/{repo}/git/refs': ['post'],
  '/repos/{owner}/{repo}/git/refs/{ref}': ['patch'],
  '/repos/{owner}/{repo}/git/trees': ['post'],
  '/repos/{owner}/{repo}/git/trees/{tree_sha}': ['get'],
};

const source = JSON.parse(readFileSync(process.argv[2], 'utf8'));

// Text for people and sample values play no part in a check.
const noise = new Set(['description', 'summary', 'example', 'examples', 'externalDocs', 'tags', 'title', 'x-github', 'x-octokit']);

function lean(node, isMap = false) {
  if (Array.isArray(node)) return node.map((item) => lean(item));
  if (node === null || typeof node !== 'object') return node;
  const out = {};
  for (const [key, value] of Object.entries(node)) {
    // Below "properties" the keys are names of fields, and a field may well be called title.
    if (!isMap && noise.has(key)) continue;
    out[key] = lean(value, key === 'properties');
  }
  // The mock's validator cannot compile "nullable" without "type", and then lets every body pass, silently.
  if (!isMap && out.nullable && !out.type) {
    const union = out.oneOf ? 'oneOf' : 'anyOf';
    out[union] = [...(out[union] ?? fail('union beside a nullable')), { type: 'object', nullable: true, maxProperties: 0 }];
    delete out.nullable;
  }
  return out;
}

const paths = {};
for (const [path, methods] of Object.entries(wanted)) {
  const operations = source.paths[path] ?? fail(path);
  paths[path] = operations.parameters ? { parameters: lean(operations.parameters) } : {};
  for (const method of methods) {
    const { operationId, parameters, requestBody, responses } = operations[method] ?? fail(`${method} ${path}`);
    const success = Object.keys(responses).find((code) => code.startsWith('2'));
    paths[path][method] = {
      operationId,
      ...lean({ parameters, ...(requestBody && { requestBody }) }),
      responses: { [success]: { description: 'success' } },
    };
  }
}

const components = {};
const seen = new Set();
function collect(node) {
  if (node === null || typeof node !== 'object') return;
  if (typeof node.$ref === 'string' && !seen.has(node.$ref)) {
    seen.add(node.$ref);
    const [, , kind, name] = node.$ref.split('/');
    components[kind] ??= {};
    components[kind][name] = lean(source.components[kind][name]);
    collect(components[kind][name]);
  }
  Object.values(node).forEach(collect);
}
collect(paths);

const { title, version, license } = source.info;
const info = { title, version, license, description: 'Part of https://github.com/github/rest-api-description (MIT, see LICENSE.github), cut by subset.mjs' };
const text = JSON.stringify({ openapi: source.openapi, info, servers: [{ url: 'https://api.github.com' }], paths, components }, null, 1);
writeFileSync(new URL('github.json', import.meta.url), text + '\n');
console.log(`${Object.values(wanted).flat().length} operations, ${seen.size} components, ${text.length} bytes`);

function fail(what) {
  throw new Error(`the description has no ${what}`);
}
