#include <sortium/sortium.hpp>
#include <cstdio>
#include <chrono>
#include <random>
#include <algorithm>
using namespace sortium;
int main(int c,char**v){
  try{
  size_t n=c>1?atol(v[1]):1000000; std::mt19937 g(1);
  for(int a=2;a<c;a++){ std::string alg=v[a];
    auto bar=alg.find('|'); Options o; if(getenv("BITS")) o.end_bit=atoi(getenv("BITS")); o.algorithm=alg.substr(0,bar); o.parameters=alg.substr(bar+1);
    std::vector<uint32_t> k(n); for(auto&x:k)x=g(); auto e=k; std::vector<float> f(n);
    std::stable_sort(e.begin(),e.end(),[&](uint32_t a,uint32_t b){ return o.end_bit? (a&((1u<<o.end_bit)-1))<(b&((1u<<o.end_bit)-1)) : a<b;}); auto k2=k;
    auto t0=std::chrono::steady_clock::now(); auto r=sort(k,o);  double ts=std::chrono::duration<double>(std::chrono::steady_clock::now()-t0).count();
    if(getenv("DUMP")) for(size_t i=0;i<n;i++) if(k[i]!=e[i]) printf("%zu: %08x want %08x (input %zd)\n",i,k[i],e[i],std::find(k2.begin(),k2.end(),k[i])-k2.begin()); size_t bad=0,first=n; for(size_t i=0;i<n;i++) if(k[i]!=e[i]){ bad++; if(first==n) first=i;}
    std::sort(k.begin(),k.end());
    printf("%s [%s]: total %.3f plan %.3f transfer %.3f sort %.4f s  bad %zu first %zu perm %d\n",alg.c_str(),r.parameters.c_str(),ts,r.plan_seconds,r.transfer_seconds,r.sort_seconds,bad,first,k==e);
  }
  }catch(const Error&e){printf("%s\n%s\n",e.what(),e.log().c_str());return 1;}
}
